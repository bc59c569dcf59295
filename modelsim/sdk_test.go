package modelsim

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// sdk returns the official client for the server, without retries of its own.
func sdk(s *Server) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("sk-test"), option.WithMaxRetries(0))
}

const sdkScript = `
split 3
ping 4
event mystery {"type":"mystery","x":1}

turn
  think Let me look.
  say I read two files.
  call read {"path":"a.txt"}
  call read {"path":"bü.txt"}
turn
  say Done: ${result}
`

// TestSDKStream: the official SDK accumulates a stream that is cut at any byte, with pings and unknown events in it, to the message that
// was scripted, and what it sends back verbatim breaks no rule.
func TestSDKStream(t *testing.T) {
	sim := ForTest(t, Config{Script: sdkScript, Clock: NewClock(start)})
	client := sdk(sim)
	tools := []anthropic.BetaToolUnionParam{{OfTool: &anthropic.BetaToolParam{Name: "read", InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"path": map[string]any{"type": "string"}}}}}}
	messages := []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))}
	ask := func() anthropic.BetaMessage {
		t.Helper()
		stream := client.Beta.Messages.NewStreaming(context.Background(), anthropic.BetaMessageNewParams{Model: "claude-opus-5-5", MaxTokens: 1000, Messages: messages, Tools: tools,
			Thinking: anthropic.BetaThinkingConfigParamUnion{OfAdaptive: &anthropic.BetaThinkingConfigAdaptiveParam{}}, Betas: []anthropic.AnthropicBeta{"thinking-binding-controls-2026-08-01"}})
		var m anthropic.BetaMessage
		for stream.Next() {
			if err := m.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := ask()
	if first.StopReason != "tool_use" || len(first.Content) != 4 || first.Content[0].Type != "thinking" || first.Content[0].Signature == "" || first.Content[3].Name != "read" {
		t.Fatalf("%+v", first)
	}
	if in := string(first.Content[3].Input); !strings.Contains(in, "bü.txt") {
		t.Errorf("input %s", in)
	}
	if first.Usage.OutputTokens < 10 || first.Usage.InputTokens < 10 || len(first.Usage.Iterations) != 1 {
		t.Errorf("usage %s", first.Usage.RawJSON())
	}
	messages = append(messages, first.ToParam(), anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock(first.Content[2].ID, "one", false), anthropic.NewBetaToolResultBlock(first.Content[3].ID, "two", false)))
	if second := ask(); second.StopReason != "end_turn" || second.Content[0].Text != "Done: one\ntwo" {
		t.Errorf("%+v", second)
	}
	if v := sim.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
	if b := sim.Breaks(); len(b) > 0 {
		t.Errorf("breaks: %v", b)
	}
}

// TestSDKWhole: replies without streaming, counting, the models endpoint and errors are what the SDK expects.
func TestSDKWhole(t *testing.T) {
	sim := ForTest(t, Config{Clock: NewClock(start), Script: "on last ~ /fail/\n fail 429 \"slow down\" retry-after=7\n"})
	client := sdk(sim)
	ctx := context.Background()
	params := anthropic.MessageNewParams{Model: "claude-opus-5-5", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))}}
	m, err := client.Messages.New(ctx, params)
	if err != nil || m.Content[0].Text != "hello" || m.StopReason != "end_turn" || m.Model != "claude-opus-5-5" {
		t.Fatalf("%+v, %v", m, err)
	}
	n, err := client.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{Model: "claude-opus-5-5", Messages: params.Messages})
	if err != nil || n.InputTokens != m.Usage.InputTokens {
		t.Errorf("%+v, %v; the reply said %d", n, err, m.Usage.InputTokens)
	}
	info, err := client.Beta.Models.Get(ctx, "claude-opus-5-5", anthropic.BetaModelGetParams{})
	if err != nil || info.MaxInputTokens != 1_000_000 || !info.Capabilities.ContextManagement.ClearToolUses20250919.Supported {
		t.Errorf("%+v, %v", info, err)
	}
	page, err := client.Models.List(ctx, anthropic.ModelListParams{})
	if err != nil || len(page.Data) < 15 {
		t.Errorf("%v, %v", page, err)
	}
	params.Messages[0] = anthropic.NewUserMessage(anthropic.NewTextBlock("please fail"))
	_, err = client.Messages.New(ctx, params)
	var apiErr *anthropic.Error
	if !errors.As(err, &apiErr) || apiErr.StatusCode != 429 || apiErr.Response.Header.Get("Retry-After") != "7" || !strings.Contains(apiErr.Error(), "slow down") {
		t.Errorf("%v", err)
	}
}

// TestSDKCompaction: a summary on demand arrives through the SDK, is sent back by it, and stands for what it covers.
func TestSDKCompaction(t *testing.T) {
	sim := ForTest(t, Config{Clock: NewClock(start), Script: "turn\n say NEEDLE-one\nturn\n say after\n"})
	client := sdk(sim)
	ctx := context.Background()
	params := anthropic.BetaMessageNewParams{Model: "claude-opus-5-5", MaxTokens: 4000, Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))},
		Betas: []anthropic.AnthropicBeta{anthropic.AnthropicBetaCompact2026_09_04}}
	m, err := client.Beta.Messages.New(ctx, params)
	if err != nil {
		t.Fatal(err)
	}
	ask := params
	ask.Messages = append(ask.Messages, m.ToParam(), anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("more")))
	ask.Compaction = anthropic.BetaCompactionConfigUnionParam{OfSummarize: &anthropic.BetaSummarizeCompactionParam{}}
	for _, streamed := range []bool{false, true} {
		var summary anthropic.BetaMessage
		if streamed {
			stream := client.Beta.Messages.NewStreaming(ctx, ask)
			for stream.Next() {
				if err := summary.Accumulate(stream.Current()); err != nil {
					t.Fatal(err)
				}
			}
			err = stream.Err()
		} else {
			var p *anthropic.BetaMessage
			if p, err = client.Beta.Messages.New(ctx, ask); err == nil {
				summary = *p
			}
		}
		if err != nil || summary.StopReason != "compaction" || len(summary.Content) != 1 || !strings.Contains(summary.Content[0].Content.OfString, "NEEDLE-one") || summary.Usage.InputTokens != 0 {
			t.Fatalf("streamed %v: %s, %v", streamed, summary.RawJSON(), err)
		}
		next := params
		next.Messages = []anthropic.BetaMessageParam{summary.ToParam(), anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go on"))}
		if m, err = client.Beta.Messages.New(ctx, next); err != nil || m.StopReason != "end_turn" {
			t.Errorf("%v", err)
		}
	}
	if v := sim.Violations(); len(v) > 0 {
		t.Errorf("violations: %v", v)
	}
}
