package foreign_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// This file is a second reader of the formats: plain encoding/json over maps,
// sharing nothing with the first. It lists what must be found in the entries.

type object = map[string]any

func sub(m object, name string) object { x, _ := m[name].(object); return x }
func str(v any) string                 { s, _ := v.(string); return s }
func num(v any) int64                  { f, _ := v.(float64); return int64(f) }
func list(v any) (out []object) {
	xs, _ := v.([]any)
	for _, x := range xs {
		if m, ok := x.(object); ok {
			out = append(out, m)
		}
	}
	return out
}

// texts are those of a content, which is a string or a list of parts.
func texts(v any) (out []string) {
	if s, ok := v.(string); ok {
		v = []any{object{"text": s}}
	}
	for _, p := range list(v) {
		if s := str(p["text"]); strings.TrimSpace(s) != "" {
			out = append(out, s)
		}
	}
	return out
}

func (l *lines) say(kind string, v any) {
	for _, s := range texts(v) {
		l.add(kind, canon(s))
	}
}

func independent(t testing.TB, agent string, data []byte) (out lines) {
	t.Helper()
	defer func() { slices.Sort(out) }()
	if agent == "codex" || agent == "pi" {
		var records []object
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			var m object
			if json.Unmarshal(line, &m) == nil {
				records = append(records, m)
			}
		}
		if agent == "codex" {
			return codexLines(records)
		}
		return piLines(records)
	}
	var doc object
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if agent == "gemini" {
		return geminiLines(list(doc["messages"]))
	}
	return opencodeLines(list(doc["messages"]))
}

func codexLines(records []object) (out lines) {
	totals, open := map[string]bool{}, false
	for _, r := range records {
		p := sub(r, "payload")
		if r["type"] == "event_msg" && p["type"] == "token_count" {
			info := sub(p, "info")
			if total := canon(info["total_token_usage"]); info != nil && !totals[total] {
				totals[total] = true
				if u := sub(info, "last_token_usage"); open {
					out.add("usage", fmt.Sprint(num(u["input_tokens"]), num(u["output_tokens"])))
				}
				open = false
			}
		}
		if r["type"] != "response_item" {
			open = open && r["type"] != "compacted"
			continue
		}
		id := str(p["call_id"])
		switch p["type"] {
		case "message":
			if p["role"] == "assistant" {
				out.say("said", p["content"])
				open = true
			} else {
				out.say("user", p["content"])
				open = false
			}
		case "function_call":
			var in any
			_ = json.Unmarshal([]byte(str(p["arguments"])), &in)
			out.add("call", id, str(p["name"]), canon(in))
			open = true
		case "custom_tool_call":
			out.add("call", id, str(p["name"]), canon(object{"input": p["input"]}))
			open = true
		case "function_call_output", "custom_tool_call_output":
			out.add("result", id, "false", canon(strings.Join(texts(p["output"]), "")))
		}
	}
	return out
}

func piLines(records []object) (out lines) {
	for _, r := range records {
		m := sub(r, "message")
		switch m["role"] {
		case "user":
			out.say("user", m["content"])
		case "bashExecution":
			s := "Ran `" + str(m["command"]) + "`\n```\n" + str(m["output"]) + "\n```"
			if p := str(m["fullOutputPath"]); p != "" {
				s += "\n\n[Output truncated. Full output: " + p + "]"
			}
			out.add("user", canon(s))
		case "toolResult":
			out.add("result", str(m["toolCallId"]), fmt.Sprint(m["isError"]), canon(strings.Join(texts(m["content"]), "")))
		case "assistant":
			said := len(out)
			for _, p := range list(m["content"]) {
				switch p["type"] {
				case "text":
					out.say("said", []any{p})
				case "toolCall":
					out.add("call", str(p["id"]), str(p["name"]), canon(p["arguments"]))
				}
			}
			if u := sub(m, "usage"); len(out) > said {
				out.add("usage", fmt.Sprint(num(u["input"])+num(u["cacheRead"])+num(u["cacheWrite"]), num(u["output"])))
			}
		}
	}
	return out
}

func geminiLines(messages []object) (out lines) {
	for _, m := range messages {
		switch m["type"] {
		case "user":
			out.say("user", m["content"])
		case "info", "warning", "error":
			out.say("notice", m["content"])
		case "gemini":
			out.say("said", m["content"])
			for _, c := range list(m["toolCalls"]) {
				out.add("call", str(c["id"]), str(c["name"]), canon(c["args"]))
				for _, r := range list(c["result"]) {
					resp := sub(sub(r, "functionResponse"), "response")
					out.add("result", str(c["id"]), fmt.Sprint(resp["error"] != nil), canon(str(resp["output"])+str(resp["error"])))
				}
			}
			u := sub(m, "tokens")
			out.add("usage", fmt.Sprint(num(u["input"]), num(u["output"])+num(u["thoughts"])))
		}
	}
	return out
}

func opencodeLines(messages []object) (out lines) {
	for _, m := range messages {
		for _, p := range list(m["parts"]) {
			switch who := sub(m, "info")["role"]; p["type"] {
			case "text":
				kind := map[any]string{"user": "user", "assistant": "said"}[who]
				if p["ignored"] == true {
					kind = "notice"
				}
				out.say(kind, []any{p})
			case "tool":
				st := sub(p, "state")
				out.add("call", str(p["callID"]), str(p["tool"]), canon(st["input"]))
				text := str(st["output"]) + str(st["error"])
				if strings.TrimSpace(text) == "" {
					text = ""
				}
				out.add("result", str(p["callID"]), fmt.Sprint(st["status"] == "error"), canon(text))
			case "step-finish":
				u := sub(p, "tokens")
				c := sub(u, "cache")
				out.add("usage", fmt.Sprint(num(u["input"])+num(c["read"])+num(c["write"]), num(u["output"])+num(u["reasoning"])))
			}
		}
	}
	return out
}
