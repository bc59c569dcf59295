package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun: the command prints where it listens, serves the script, logs each request without the key, and ends with a report.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	script, log := filepath.Join(dir, "script"), filepath.Join(dir, "log")
	if err := os.WriteFile(script, []byte("turn\n say first\ndefault\n say other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, in := io.Pipe()
	code := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		code <- run(ctx, []string{"--script", script, "--log", log, "--lenient"}, in, &stderr)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal(stderr.String())
	}
	url := lines.Text()
	post := func(body string) string {
		r, err := http.NewRequest(http.MethodPost, url+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer sk-secret"}, "Anthropic-Version": {"2026-10-21"}, "Content-Type": {"application/json"}}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	if got := post(`{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`); !strings.Contains(got, "first") {
		t.Error(got)
	}
	if got := post(`{"model":"claude-opus-5-5","max_tokens":9,"wrong":1,"messages":[{"role":"user","content":"hi"}]}`); !strings.Contains(got, "other") {
		t.Error(got)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	var report strings.Builder
	for lines.Scan() {
		report.WriteString(lines.Text() + "\n")
	}
	if c := <-code; c != exitViolations {
		t.Errorf("exit code %d: %s", c, stderr.String())
	}
	if !strings.Contains(report.String(), "2 requests") || !strings.Contains(report.String(), "violation field: 1") {
		t.Error(report.String())
	}
	logged, err := os.ReadFile(log)
	if err != nil || bytes.Count(logged, []byte("\n")) != 2 || bytes.Contains(logged, []byte("sk-secret")) || !bytes.Contains(logged, []byte(`"Section":"turn at line 1"`)) {
		t.Errorf("%v\n%s", err, logged)
	}
}

// TestUsage: wrong flags and scripts end with code 2 and a reason.
func TestUsage(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("turn\n fly away\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, taken, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
		code int
	}{
		{[]string{"--port", taken}, "give another --port", exitFailed},
		{[]string{"--script", empty}, "is empty; without --script", exitUsage},
		{[]string{"--factor", "-1"}, "at most 100", exitUsage},
		{[]string{"--factor", "NaN"}, "at most 100", exitUsage},
		{[]string{"--log", filepath.Join(bad, "x")}, "--log: ", exitUsage},
		{[]string{"--nonsense"}, "nonsense", exitUsage},
		{[]string{"extra"}, "unexpected argument", exitUsage},
		{[]string{"--script", bad}, `line 2: unknown verb "fly"`, exitUsage},
		{[]string{"--script", bad + "x"}, "no such file", exitUsage},
		{[]string{"--port", "99999"}, "want 1 to 65535", exitUsage},
		{[]string{"--port", "-1"}, "want 1 to 65535", exitUsage},
		{[]string{"-h"}, "script", 0},
	} {
		var out, errs bytes.Buffer
		if code := run(context.Background(), c.args, &out, &errs); code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: code %d: %s", c.args, code, errs.String())
		}
	}
}
