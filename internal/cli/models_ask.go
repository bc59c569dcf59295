package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"varve.dev/llm"
)

// The one question that the command asks of a provider. The adapter in
// llm/anthropic asks it too, over the provider's SDK; that takes most of the time of
// a first build, which nobody should wait for who only wants to see a table.

// asker asks Anthropic's models endpoint by the variables that the reference reads.
type asker struct {
	base   string
	header http.Header
	client *http.Client
}

var errNoKey = errors.New("no API key: set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN for a gateway that wants a bearer token")

func newAsker(getenv func(string) string) (*asker, error) {
	q := &asker{base: "https://api.anthropic.com", header: http.Header{"Anthropic-Version": {"2023-06-01"}},
		// A redirect would carry the key elsewhere.
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	key, token := getenv("ANTHROPIC_API_KEY"), getenv("ANTHROPIC_AUTH_TOKEN")
	switch {
	case key != "":
		q.header.Set("X-Api-Key", key)
	case token != "":
		q.header.Set("Authorization", "Bearer "+token)
	default:
		return nil, errNoKey
	}
	for line := range strings.SplitSeq(getenv("ANTHROPIC_CUSTOM_HEADERS"), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			q.header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	if base := getenv("ANTHROPIC_BASE_URL"); base != "" {
		q.base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1")
	}
	if u, err := url.Parse(q.base); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the base URL must be http://host or https://host (ANTHROPIC_BASE_URL)")
	}
	return q, nil
}

const (
	askPages  = 50      // bounds a listing whose server never says that it ends
	askAnswer = 8 << 20 // bytes of a page
)

// models lists the models of the account.
func (q *asker) models(ctx context.Context) ([]answer, error) {
	var all []answer
	after := ""
	for range askPages {
		path := "/v1/models?limit=1000"
		if after != "" {
			path += "&after_id=" + url.QueryEscape(after)
		}
		var page struct {
			Data []struct {
				ID        string `json:"id"`
				Input     int    `json:"max_input_tokens"`
				Output    int    `json:"max_tokens"`
				Lifecycle string `json:"lifecycle"`
			} `json:"data"`
			More bool   `json:"has_more"`
			Last string `json:"last_id"`
		}
		if err := q.get(ctx, path, &page); err != nil {
			return nil, err
		}
		for _, x := range page.Data {
			all = append(all, answer{Name: x.ID, Window: max(x.Input, 0), MaxOutput: max(x.Output, 0), Lifecycle: x.Lifecycle})
		}
		if !page.More || page.Last == "" || page.Last == after {
			break
		}
		after = page.Last
	}
	return all, nil
}

func (q *asker) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, q.base+path, nil)
	if err != nil {
		return err
	}
	req.Header = q.header.Clone()
	res, err := q.client.Do(req)
	if err != nil {
		return llm.Classify(llm.Failure{Err: err})
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, askAnswer))
	if cerr := res.Body.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil:
		return llm.Classify(llm.Failure{Err: err, Header: res.Header.Get})
	case res.StatusCode != http.StatusOK:
		return llm.Classify(llm.Failure{Status: res.StatusCode, Body: raw, Header: res.Header.Get})
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("the answer is not what a models endpoint says: %w", err)
	}
	return nil
}
