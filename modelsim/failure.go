package modelsim

import (
	"fmt"
	"net/http"
)

// A failure is an answer that is an error.
type failure struct {
	status  int
	typ     string
	message string
	code    string // details.error_code, "" for none
	plain   bool   // the body is no JSON, as an edge server writes it
	headers [][2]string
	id      string // request_id
}

// errorTypes are the error types of the API by status (API.md 1.4).
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
	409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

func errorType(status int) string {
	if t := errorTypes[status]; t != "" {
		return t
	}
	if status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}

type errorBody struct {
	Type  string `json:"type"`
	Error struct {
		Type    string            `json:"type"`
		Message string            `json:"message"`
		Details map[string]string `json:"details,omitempty"`
	} `json:"error"`
	RequestID string `json:"request_id,omitempty"`
}

func (f *failure) body() []byte {
	if f.plain {
		return fmt.Appendf(nil, "<html><head><title>%d %s</title></head><body>%s</body></html>\n", f.status, http.StatusText(f.status), f.message)
	}
	b := errorBody{Type: "error", RequestID: f.id}
	b.Error.Type, b.Error.Message = f.typ, f.message
	if f.code != "" {
		b.Error.Details = map[string]string{"error_code": f.code}
	}
	return marshal(b)
}

func (s *Server) writeFailure(w http.ResponseWriter, f *failure) error {
	h := w.Header()
	for _, p := range f.headers {
		h.Set(p[0], p[1])
	}
	h.Set("Content-Type", "application/json")
	if f.plain {
		h.Set("Content-Type", "text/html")
	}
	w.WriteHeader(f.status)
	_, err := w.Write(f.body())
	return err
}

func writeJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(marshal(v))
	return err
}

// tooLong is the overflow of a prompt that alone is over the window, in the API's words (API.md 1.4).
func tooLong(prompt, window int) *failure {
	return &failure{status: 400, typ: errorType(400), message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", prompt, window)}
}

// sumTooLong is the overflow of models that count the reply in.
func sumTooLong(prompt, maxTokens, window int) *failure {
	return &failure{status: 400, typ: errorType(400), message: fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", prompt, maxTokens, window)}
}
