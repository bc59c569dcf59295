package modelsim

import (
	"regexp"
	"slices"
	"strings"
)

// betaShape is a beta as all of them are called: a name and a date.
var betaShape = regexp.MustCompile(`^[a-z0-9-]+-(\d{4}-\d{2}-\d{2}|\d{8})$`)

// blockFields are the members of the block types that a client writes itself. Others may carry what a server put into them.
var blockFields = map[string][]string{
	"text":              strings.Fields("type text citations cache_control"),
	"thinking":          strings.Fields("type thinking signature"),
	"redacted_thinking": strings.Fields("type data"),
	"tool_use":          strings.Fields("type id name input caller toolset_name cache_control"),
	"tool_result":       strings.Fields("type tool_use_id content is_error toolset_name cache_control"),
	"image":             strings.Fields("type source cache_control"),
	"document":          strings.Fields("type source title context citations cache_control"),
	"compaction":        strings.Fields("type content signature encrypted_content tool_changes cache_control"),
}

// otherBlocks are the types of content blocks beside those of blockFields (the official SDK's union).
var otherBlocks = strings.Fields(`search_result server_tool_use web_search_tool_result web_fetch_tool_result advisor_tool_result
	code_execution_tool_result bash_code_execution_tool_result text_editor_code_execution_tool_result tool_search_tool_result mcp_tool_use
	mcp_tool_result container_upload tool_addition tool_removal mcp_tool_listing fallback`)

// blockBetas are the betas that a type of block needs.
var blockBetas = map[string]string{
	"tool_addition": "mid-conversation-tool-changes-2026-07-01",
	"tool_removal":  "mid-conversation-tool-changes-2026-07-01",
}

// messageRules checks the shape of messages and blocks; what stands where is the matter of the pairing rules.
func (j *judge) messageRules() {
	for _, b := range j.system {
		if b.Type != "text" {
			j.add("block-type", b.path, "Input should be a text block, not '%s'", b.Type)
		}
		j.block(&b)
	}
	if j.body.has("cache_control") {
		j.cacheMark(j.body, "")
	}
	for i := range j.msgs {
		m := &j.msgs[i]
		at := "messages." + itoa(i)
		for _, f := range m.o {
			switch {
			case f.name == "role" || f.name == "content":
			case f.name == "clear_at" && m.role == "system":
				j.needBeta("mid-conversation-system-clear-at-2026-08-21", at+".clear_at", "clear_at")
				if s, _ := asString(f.raw); s != "next_user_message" {
					j.add("field", at+".clear_at", "Input should be 'next_user_message'")
				}
			case f.name == "output_config" && m.role == "system":
				j.needBeta("mid-conversation-output-config-2026-07-01", at+".output_config", "output_config of a message")
			default:
				j.add("field", at+"."+f.name, "Extra inputs are not permitted")
			}
		}
		if !m.o.has("content") {
			j.add("field", at+".content", "Field required")
		}
		for k := range m.blocks {
			j.block(&m.blocks[k])
		}
		if i > 0 {
			j.mixedTurn(&j.msgs[i-1], m)
		}
	}
}

// mixedTurn checks the answer to a reply that calls the client's tools while a tool of the server's is under way (API.md 1.5, 12):
// results and nothing else, since the turn goes on with the server's.
func (j *judge) mixedTurn(reply, answer *msg) {
	if reply.role != "assistant" {
		return
	}
	open, client := map[string]bool{}, false
	for i := range reply.blocks {
		switch b := &reply.blocks[i]; {
		case b.Type == "server_tool_use":
			open[b.o.str("id")] = true
		case b.Type == "tool_use":
			client = true
		case strings.HasSuffix(b.Type, "_tool_result"):
			delete(open, b.o.str("tool_use_id"))
		}
	}
	if len(open) == 0 || !client {
		return
	}
	for i := range answer.blocks {
		if b := &answer.blocks[i]; b.Type != "tool_result" {
			j.add("mixed-turn", b.path, "a server_tool_use block is still open: the answer to its message holds only tool_result blocks")
			return
		}
	}
}

func (j *judge) block(b *block) {
	j.cacheMark(b.o, b.path)
	if j.isNew() && b.Type == "document" && b.role == "assistant" {
		j.add("block-role", b.path, "document blocks are not permitted in assistant messages")
	}
	if list, _ := asArray(b.o.get("citations")); j.isNew() && b.Type == "text" && b.role == "user" && len(list) > 0 {
		j.add("field", b.path+".text.citations", "citations are not permitted in user messages")
	}
	fields, known := blockFields[b.Type]
	if !known {
		if b.Type != "" && !slices.Contains(otherBlocks, b.Type) {
			j.add("block-type", b.path, "Input tag '%s' found using 'type' does not match any of the expected tags", b.Type)
		}
		if beta := blockBetas[b.Type]; beta != "" {
			j.needBeta(beta, b.path, b.Type)
			if b.Type == "tool_addition" && b.o.obj("tool").has("input_schema") {
				j.needBeta("inline-tools-2026-09-15", b.path+".tool", "an inline definition")
			}
		}
		return
	}
	for _, f := range b.o {
		if !slices.Contains(fields, f.name) {
			j.add("field", b.path+"."+b.Type+"."+f.name, "Extra inputs are not permitted")
		}
	}
	if b.Type != "tool_result" {
		return
	}
	if b.ToolUseID == "" {
		j.add("field", b.path+".tool_result.tool_use_id", "Field required")
	}
	if raw := b.o.get("is_error"); raw != nil && string(raw) != "true" && string(raw) != "false" && string(raw) != "null" {
		j.add("field", b.path+".tool_result.is_error", "Input should be a valid boolean")
	}
	list, isList := asArray(b.o.get("content"))
	if _, isText := asString(b.o.get("content")); b.o.has("content") && !isText && !isList {
		j.add("field", b.path+".tool_result.content", "Input should be a valid string or list")
	}
	for i, raw := range list {
		if o, err := parseObject(raw); err == nil {
			j.cacheMark(o, b.path+".content."+itoa(i))
			if t := o.str("type"); t != "" && !slices.Contains([]string{"text", "image", "document", "search_result", "tool_reference"}, t) {
				j.add("result-content", b.path+".content."+itoa(i), "Input tag '%s' found using 'type' does not match any of the expected tags", t)
			}
		}
	}
}
