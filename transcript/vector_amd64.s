#include "textflag.h"

// Sixty-four bytes are looked at in one step: comparisons give a bit for each byte.
// What is done with the bits is the first stage of what simdjson describes
// (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", sections 3.1.1 and 3.1.2).

DATA vectorOdd<>+0(SB)/8, $0xAAAAAAAAAAAAAAAA
GLOBL vectorOdd<>(SB), RODATA|NOPTR, $8

// SPREAD puts the byte of a 32-bit pattern into all bytes of Y.
#define SPREAD(pattern, X, Y) \
	MOVL $pattern, AX; \
	VMOVD AX, X; \
	VPBROADCASTD X, Y

// MASK compares the 64 bytes in Y8 and Y9 with Y and puts the bits into R.
#define MASK(Y, R, T) \
	VPCMPEQB Y, Y8, Y10; \
	VPCMPEQB Y, Y9, Y11; \
	VPMOVMSKB Y10, R; \
	VPMOVMSKB Y11, T; \
	SHLQ $32, T; \
	ORQ T, R

// ESCAPE takes escaped quotes out of the bits in Q. B are backslashes, R8 says
// whether the first byte is escaped by one before it, and is set for the next step.
#define ESCAPE(Q, B) \
	MOVQ B, R10; \
	ORQ R8, R10; \
	MOVQ R8, R11; \
	NOTQ R11; \
	ANDQ B, R11; \
	MOVQ R11, R12; \
	SHLQ $1, R12; \
	ORQ R9, R12; \
	SUBQ R11, R12; \
	XORQ R9, R12; \
	XORQ R12, R10; \
	ANDQ B, R12; \
	SHRQ $63, R12; \
	MOVQ R12, R8; \
	NOTQ R10; \
	ANDQ R10, Q

// func quoteVector(p *byte, blocks int) int
TEXT ·quoteVector(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	XORQ DI, DI
	XORQ R8, R8
	MOVQ vectorOdd<>(SB), R9
	SPREAD(0x22222222, X0, Y0)
	SPREAD(0x5C5C5C5C, X1, Y1)

quoteLoop:
	VMOVDQU (SI)(DI*1), Y8
	VMOVDQU 32(SI)(DI*1), Y9
	MASK(Y0, AX, DX)
	MASK(Y1, BX, DX)
	MOVQ BX, DX
	ORQ  R8, DX
	JZ   quoteTest
	ESCAPE(AX, BX)

quoteTest:
	TESTQ AX, AX
	JNZ   quoteFound
	ADDQ  $64, DI
	DECQ  CX
	JNZ   quoteLoop
	MOVQ  $-1, AX
	MOVQ  AX, ret+16(FP)
	VZEROUPPER
	RET

quoteFound:
	BSFQ AX, AX
	ADDQ DI, AX
	MOVQ AX, ret+16(FP)
	VZEROUPPER
	RET

// func newlineVector(p *byte, blocks int) int
TEXT ·newlineVector(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ SI, DI
	SPREAD(0x0A0A0A0A, X0, Y0)
	VPXOR Y5, Y5, Y5

newlineLoop:
	// A byte of the smaller of x and x^0x0A is zero where x is one of the two.
	VMOVDQU (DI), Y8
	VMOVDQU 32(DI), Y9
	VPXOR   Y0, Y8, Y10
	VPXOR   Y0, Y9, Y11
	VPMINUB Y8, Y10, Y8
	VPMINUB Y9, Y11, Y9
	VPMINUB Y8, Y9, Y10
	VPCMPEQB Y5, Y10, Y10
	VPTEST  Y10, Y10
	JNZ     newlineFound
	ADDQ    $64, DI
	DECQ    CX
	JNZ     newlineLoop
	MOVQ    $-1, AX
	MOVQ    AX, ret+16(FP)
	VZEROUPPER
	RET

newlineFound:
	MASK(Y5, AX, DX)
	BSFQ AX, AX
	SUBQ SI, DI
	ADDQ DI, AX
	MOVQ AX, ret+16(FP)
	VZEROUPPER
	RET

// func nestVector(p *byte, blocks int, st *nest) int
TEXT ·nestVector(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), SI
	MOVQ blocks+8(FP), CX
	MOVQ st+16(FP), R15
	XORQ DI, DI
	MOVQ 0(R15), R8          // escaped
	MOVQ 8(R15), R13         // inside
	MOVQ 16(R15), R14        // depth
	MOVQ vectorOdd<>(SB), R9
	SPREAD(0x22222222, X0, Y0)
	SPREAD(0x5C5C5C5C, X1, Y1)
	SPREAD(0x7B7B7B7B, X2, Y2)
	SPREAD(0x7D7D7D7D, X3, Y3)
	SPREAD(0x20202020, X4, Y4)
	VPXOR    Y5, Y5, Y5
	VPCMPEQB X7, X7, X7

nestLoop:
	VMOVDQU (SI)(DI*1), Y8
	VMOVDQU 32(SI)(DI*1), Y9
	MASK(Y0, AX, DX)
	MASK(Y1, BX, DX)
	MOVQ BX, DX
	ORQ  R8, DX
	JZ   nestInside
	ESCAPE(AX, BX)

nestInside:
	// Every byte from an opening quote up to before its closing one.
	VMOVQ      AX, X6
	VPCLMULQDQ $0, X7, X6, X6
	VMOVQ      X6, AX
	XORQ       R13, AX
	MOVQ       AX, R13
	SARQ       $63, R13
	NOTQ       AX               // outside of strings

	// Zero bytes and backslashes outside of strings are for the careful scan.
	MASK(Y5, R10, DX)
	ORQ   BX, R10
	TESTQ AX, R10
	JNZ   nestOdd

	// '[' and ']' differ from '{' and '}' in one bit.
	VPOR Y4, Y8, Y8
	VPOR Y4, Y9, Y9
	MASK(Y2, R10, DX)
	MASK(Y3, R11, DX)
	ANDQ AX, R10
	ANDQ AX, R11
	POPCNTQ R11, R12
	CMPQ R12, R14
	JGE  nestStop
	POPCNTQ R10, R10
	ADDQ R10, R14
	SUBQ R12, R14
	ADDQ $64, DI
	DECQ CX
	JNZ  nestLoop
	JMP  nestSave

nestStop:
	MOVQ R10, 24(R15)
	MOVQ R11, 32(R15)
	JMP  nestSave

nestOdd:
	MOVQ $1, 40(R15)

nestSave:
	MOVQ R8, 0(R15)
	MOVQ R13, 8(R15)
	MOVQ R14, 16(R15)
	MOVQ DI, ret+24(FP)
	VZEROUPPER
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
