package results

import (
	"fmt"
	"strings"
)

// The literals of the form that stands for a result on disk. They are interface: the reference writes them (FORMAT, section 6), other
// tools look for them.
const (
	formStart   = "<persisted-output>\n"
	formEnd     = "\n</persisted-output>"
	formSaved   = "). Full output saved to: "
	formPreview = "\n\nPreview (first "
)

// form is what the model sees instead of text. It is valid UTF-8 whatever the path is, so that it survives an entry unchanged.
func form(path, text string, preview int) string {
	head, more := Head(text, preview)
	var b strings.Builder
	b.WriteString(formStart)
	fmt.Fprintf(&b, "Output too large (%s%s%s", Size(len(text)), formSaved, path)
	if preview > 0 {
		fmt.Fprintf(&b, "%s%s):\n%s", formPreview, Size(preview), head)
		if more {
			b.WriteString("\n...")
		}
	}
	b.WriteString(formEnd)
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// Path returns the file that a text in the persisted form names, "" when it is no such text.
func Path(text string) string {
	if !strings.HasPrefix(text, formStart) || !strings.HasSuffix(text, formEnd) {
		return ""
	}
	line, _, _ := strings.Cut(text[len(formStart):], "\n")
	_, path, _ := strings.Cut(line, formSaved)
	return path
}

// Size writes a number of bytes as the reference does: units of 1,024, at most one digit behind the point, halves rounded up.
func Size(n int) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	unit, name := 1<<10, "KB"
	switch {
	case n >= 1<<30:
		unit, name = 1<<30, "GB"
	case n >= 1<<20:
		unit, name = 1<<20, "MB"
	}
	tenths := (int64(n)*20 + int64(unit)) / (2 * int64(unit))
	if tenths%10 == 0 {
		return fmt.Sprintf("%d%s", tenths/10, name)
	}
	return fmt.Sprintf("%d.%d%s", tenths/10, tenths%10, name)
}
