package message

import (
	"crypto/sha256"
	"encoding/hex"
)

// maxID is the length of a canonical tool-use id (OpenAI's limit); every provider accepts ids up to it.
const maxID = 64

// ValidID reports whether id is a tool-use id that every provider accepts: [A-Za-z0-9_-]{1,64}.
func ValidID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for i := range len(id) {
		if !isIDByte(id[i]) {
			return false
		}
	}
	return true
}

func isIDByte(c byte) bool {
	return c == '_' || c == '-' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// CanonicalID returns the tool-use id under which a call is recorded: native itself when that is valid, else its usable characters and
// a hash of the whole, so that different ids stay different. It depends on nothing but native; adapters keep native beside it.
func CanonicalID(native string) string {
	if ValidID(native) {
		return native
	}
	sum := sha256.Sum256([]byte(native))
	const hash = 16 // hexadecimal digits: 64 bits
	out := make([]byte, 0, maxID)
	for i := 0; i < len(native) && len(out) < maxID-hash-1; i++ {
		if isIDByte(native[i]) {
			out = append(out, native[i])
		}
	}
	if len(out) == 0 {
		out = append(out, "call"...)
	}
	return string(append(out, '_')) + hex.EncodeToString(sum[:])[:hash]
}
