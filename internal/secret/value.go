package secret

import (
	"math"
	"strings"
)

// entropy returns the Shannon entropy of the bytes of s in bits a byte: 0 for
// one repeated byte, about 4 for hex digits, at most log2(len(s)).
func entropy(s string) float64 {
	if s == "" {
		return 0
	}
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	n, sum := float64(len(s)), 0.0
	for _, c := range count {
		if c > 0 {
			p := float64(c) / n
			sum -= p * math.Log2(p)
		}
	}
	return sum
}

// examples are parts of values that documents use in place of a secret, in
// lower case. All are long enough not to occur in a random key by chance.
var examples = []string{
	"example", "placeholder", "redacted", "changeme", "change-me", "change_me",
	"xxxxxx", "******", "your_", "your-", "yourapi", "yourtoken", "yoursecret", "yourpassword", "<your",
	"insert_", "insert-", "replace_", "replace-", "replaceme", "dummy", "not-a-real", "not_a_real", "notareal",
}

// isPlaceholder reports whether a value is an obvious example and no secret:
// the marker of an earlier redaction, a word such as EXAMPLE, one repeated filler
// character, or a reference to a variable.
func isPlaceholder(value string) bool {
	if strings.HasPrefix(value, "$") || strings.ContainsAny(value, "<>") ||
		strings.Contains(value, "${") || strings.Contains(value, "$(") || strings.Contains(value, "{{") ||
		strings.Contains(value, "...") || strings.Contains(value, "…") {
		return true
	}
	if strings.Trim(value, "xX*.-_0#") == "" {
		return true
	}
	low := strings.ToLower(value)
	for _, e := range examples {
		if strings.Contains(low, e) {
			return true
		}
	}
	return false
}

// commonWords are values that examples, test set-ups and prose put where a
// password would be.
var commonWords = map[string]bool{
	"pass": true, "password": true, "passwd": true, "passphrase": true, "secret": true, "token": true, "user": true, "username": true,
	"test": true, "testing": true, "testpass": true, "testpassword": true, "postgres": true, "mysql": true, "root": true, "admin": true,
	"guest": true, "none": true, "null": true, "true": true, "false": true, "string": true, "undefined": true, "mypassword": true,
	"pass1234": true, "password1": true, "password123": true, "secret123": true, "test123": true, "test1234": true,
	"s3cret": true, "hunter2": true, "12345678": true, "123456789": true, "1234567890": true, "port": true, "host": true,
}

func isCommonWord(value string) bool {
	return commonWords[strings.ToLower(value)] || strings.HasPrefix(value, "%") && len(value) <= 4
}

// shape counts the kinds of characters of a value.
type shape struct{ lower, upper, digit, mark, other int }

func shapeOf(value string) shape {
	var s shape
	for i := range len(value) {
		switch b := value[i]; {
		case b >= 'a' && b <= 'z':
			s.lower++
		case b >= 'A' && b <= 'Z':
			s.upper++
		case b >= '0' && b <= '9':
			s.digit++
		case strings.IndexByte("_-./:", b) >= 0:
			s.mark++ // what joins words, paths and identifiers
		default:
			s.other++
		}
	}
	return s
}

// isCode reports whether an unquoted or quoted value reads as program text: a
// call, a path, a field, a type or a URL.
func isCode(value string) bool {
	return strings.ContainsAny(value, "(){}[];,|\x60$") || strings.Contains(value, "://") || strings.HasPrefix(value, "/") ||
		strings.HasPrefix(value, "./") || strings.HasPrefix(value, "--") || strings.Contains(value, "process.env") || strings.HasPrefix(value, "=")
}

// isPassword is the gate for values named as a password. People choose
// passwords, so little entropy is asked for; but a value that is only words is
// more often a label, a type or a form field than a password.
func isPassword(value string) bool {
	if isCode(value) || isCommonWord(value) {
		return false
	}
	s := shapeOf(value)
	letters := s.lower + s.upper
	if letters == 0 || s.digit == 0 && s.other == 0 && !looksRandom(value, s) {
		return false
	}
	return entropy(value) >= 2.5
}

// isGeneric is the gate for values named as a secret, token or key. Those are
// made by machines: they are long and mix digits with letters.
func isGeneric(value string) bool {
	if len(value) < 16 || isCode(value) || isCommonWord(value) {
		return false
	}
	s := shapeOf(value)
	if s.lower+s.upper == 0 {
		return false
	}
	if s.digit < 2 {
		return looksRandom(value, s)
	}
	// Words joined by marks with a number at the end are names ("build-cache-v2-2024").
	if s.mark >= 2 && s.digit*4 < len(value) && s.upper == 0 && s.other == 0 {
		return false
	}
	return entropy(value) >= 3
}

// isToken is the gate for what follows "Bearer".
func isToken(value string) bool {
	s := shapeOf(value)
	if s.digit == 0 {
		return looksRandom(value, s)
	}
	return s.lower+s.upper > 0 && entropy(value) >= 3
}

// looksRandom is the gate for values without digits: mixed case, long, hardly
// any joints, and near the entropy of random letters.
func looksRandom(value string, s shape) bool {
	return len(value) >= 20 && s.upper >= 4 && s.lower >= 4 && s.mark <= 1 && entropy(value) >= 4 && caseTurns(value) >= len(value)/3
}

// caseTurns counts the places where the case of neighbouring letters differs.
// CamelCase names have about two a word, random letters one in two.
func caseTurns(value string) int {
	n := 0
	for i := 1; i < len(value); i++ {
		if (value[i-1] >= 'a') != (value[i] >= 'a') {
			n++
		}
	}
	return n
}
