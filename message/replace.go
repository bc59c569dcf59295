package message

import "slices"

// ReplaceText returns the tool result b with all of its text replaced by s. Images, and whatever else a text cannot stand for, stay
// where they are; all bytes of b but its content are kept. It depends on b and s alone, so that a replacement recorded once gives the
// same bytes for ever.
func ReplaceText(b Block, s string) Block {
	var content []Block
	done := !slices.ContainsFunc(b.Content, IsText)
	if done {
		content = append(content, Text(s))
	}
	for _, c := range b.Content {
		switch {
		case !IsText(c):
			content = append(content, c)
		case !done:
			content, done = append(content, Text(s)), true
		}
	}
	value := AppendString(nil, s)
	if len(content) > 1 {
		value = AppendBlocks(nil, content)
	}
	if out, err := ParseBlock(setMember(b.Raw, "content", value)); err == nil {
		return out
	}
	return ToolResult(b.ToolUseID, b.IsError, content...)
}

// IsText reports whether a block inside a tool result is text as far as a file or a replacement can stand for it: all but images,
// documents in binary form and references to tools.
func IsText(b Block) bool {
	switch b.Type {
	case TypeImage, "tool_reference":
		return false
	case TypeDocument:
		return b.Source != nil && (b.Source.Type == "text" || b.Source.Type == "content")
	}
	return true
}
