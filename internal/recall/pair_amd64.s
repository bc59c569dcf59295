#include "textflag.h"

// func pairVector(p *byte, blocks, off int, a, aMask, b, bMask byte) int
//
// Thirty-two places are looked at in one step: a byte of each, and the byte off
// behind it.
TEXT ·pairVector(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ off+16(FP), DX
	MOVBLZX a+24(FP), AX
	VMOVD AX, X0
	VPBROADCASTB X0, Y0
	MOVBLZX aMask+25(FP), AX
	VMOVD AX, X1
	VPBROADCASTB X1, Y1
	MOVBLZX b+26(FP), AX
	VMOVD AX, X2
	VPBROADCASTB X2, Y2
	MOVBLZX bMask+27(FP), AX
	VMOVD AX, X3
	VPBROADCASTB X3, Y3
	MOVQ SI, DI

loop:
	VMOVDQU (SI), Y4
	VMOVDQU (SI)(DX*1), Y5
	VPOR Y1, Y4, Y4
	VPOR Y3, Y5, Y5
	VPCMPEQB Y0, Y4, Y4
	VPCMPEQB Y2, Y5, Y5
	VPAND Y4, Y5, Y5
	VPMOVMSKB Y5, AX
	TESTL AX, AX
	JNZ found
	ADDQ $32, SI
	DECQ CX
	JNZ loop
	MOVQ $-1, AX
	MOVQ AX, ret+32(FP)
	VZEROUPPER
	RET

found:
	BSFL AX, AX
	SUBQ DI, SI
	ADDQ SI, AX
	MOVQ AX, ret+32(FP)
	VZEROUPPER
	RET
