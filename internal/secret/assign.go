package secret

import "strings"

// nameTails are the words with which a name may go on behind its keyword and
// still be that of a secret: secret_key and password2, but not token_count,
// tokenizer or password_file.
var nameTails = []string{"key", "value", "val", "hash", "base64", "b64", "prod", "production", "dev", "staging", "test", "1", "2", "3", "id_key"}

// maxValue is the greatest length of a value beside its name.
const maxValue = 400

// assigned reads what follows a name: the rest of the name, the operator and the
// value. It knows the ways of configuration files, JSON (raw and escaped), YAML,
// shells and programming languages:
//
//	NAME=value   "name": "value"   name := `value`   [name] => 'value'   var name string = "value"
//
// The value is what stands between quotes, without blanks, or an unquoted word.
func assigned(text string, at int) (start, end int, ok bool) {
	at = skipTail(text, at)
	at = skipQuote(text, at)
	if at < len(text) && text[at] == ']' {
		at++
	}
	at, ok = skipOperator(text, at)
	if !ok {
		return 0, 0, false
	}
	start = skipQuote(text, at)
	limit := min(len(text), start+maxValue)
	end = start
	if start > at {
		for end < limit && quotedValue[text[end]] {
			end++
		}
		return start, end, end > start && end < len(text) && (text[end] == text[start-1] || text[end] == '\\')
	}
	for end < limit && bareValue[text[end]] {
		end++
	}
	return start, end, end > start && (end == len(text) || strings.IndexByte(" \t\r\n\x1b,;&<)]}\\\"'`", text[end]) >= 0)
}

// quotedValue is what a value in quotes may hold: no blank, quote, backslash or
// control character. bareValue is what one without quotes may hold.
var (
	quotedValue = func() *class {
		var c class
		for b := 0x21; b <= 0xff; b++ {
			c[b] = b != 0x7f && strings.IndexByte("\"'`\\", byte(b)) < 0
		}
		return &c
	}()
	bareValue = bytesOf("A-Za-z0-9+/_=.~!@#%^*-")
)

// skipTail skips what belongs to the name behind its keyword.
func skipTail(text string, at int) int {
	from := at
	if at < len(text) && (text[at] == '_' || text[at] == '-') {
		from++
	}
	for _, tail := range nameTails {
		end := from + len(tail)
		if end <= len(text) && strings.EqualFold(text[from:end], tail) && (end == len(text) || !isWord(text[end])) {
			return end
		}
	}
	return at
}

// skipQuote skips a quote with the backslashes before it, and nothing where no
// quote is.
func skipQuote(text string, at int) int {
	i := at
	for i < len(text) && i-at < 8 && text[i] == '\\' {
		i++
	}
	if i < len(text) && (text[i] == '"' || text[i] == '\'' || text[i] == '`') {
		return i + 1
	}
	return at
}

// skipOperator skips blanks, an optional type, the operator and blanks.
func skipOperator(text string, at int) (int, bool) {
	at = skipBlanks(text, at)
	if at == len(text) {
		return at, false
	}
	if rest := skipType(text, at); rest > at {
		// After a type only an equals sign can give a value.
		if rest = skipBlanks(text, rest); rest == len(text) || text[rest] != '=' {
			return at, false
		}
		at = rest
	}
	for _, op := range []string{"=>", ":=", "==", "=", ":"} {
		if strings.HasPrefix(text[at:], op) {
			return skipBlanks(text, at+len(op)), true
		}
	}
	return at, false
}

// skipType skips a type of a declaration: "string", ": string", ": str".
func skipType(text string, at int) int {
	i := at
	if text[i] == ':' {
		i = skipBlanks(text, i+1)
	}
	for _, name := range []string{"string", "String", "str"} {
		if end := i + len(name); strings.HasPrefix(text[i:], name) && (end == len(text) || !isWord(text[end])) {
			return end
		}
	}
	return at
}

func skipBlanks(text string, at int) int {
	for n := 0; at < len(text) && n < 16 && (text[at] == ' ' || text[at] == '\t'); n++ {
		at++
	}
	return at
}
