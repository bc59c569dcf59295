package replay

import "time"

// Schema is the version of [Result] as JSON. Members may be added without a new
// version; one that changes its meaning or goes makes a new one.
const Schema = 1

// Result is one replay. All sizes are in tokens of the model unless a name says
// otherwise, all money in US dollars.
type Result struct {
	Schema    int         `json:"schema"`
	Recording Recorded    `json:"recording"`
	Model     string      `json:"model"` // provider/name
	Window    int         `json:"window"`
	Limits    Limits      `json:"limits"`
	Runs      []PolicyRun `json:"runs"` // in the order asked for
	Session   *Left       `json:"session,omitempty"`
	Notes     []string    `json:"notes,omitempty"` // what was assumed or not counted, each a sentence
}

// Recorded describes the recording.
type Recorded struct {
	Name      string    `json:"name"`   // file name, or the name of the bundled one
	Format    string    `json:"format"` // varve, claude, codex, gemini, opencode, pi
	SessionID string    `json:"sessionId,omitempty"`
	Title     string    `json:"title,omitempty"`
	Bytes     int64     `json:"bytes"`
	Entries   int       `json:"entries"` // of the conversation, from its very beginning
	Prompts   int       `json:"prompts"` // messages that people typed
	Replies   int       `json:"replies"`
	Calls     int       `json:"toolCalls"`
	SubAgents int       `json:"subAgents,omitempty"` // logs of sub-agents beside it, not replayed
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
	Faults    int       `json:"faults,omitempty"` // damaged lines that were passed over
}

// Limits are the thresholds of the window (B-3).
type Limits struct {
	Effective int `json:"effective"`
	Auto      int `json:"auto"`
	Warning   int `json:"warning"`
	Blocking  int `json:"blocking"`
}

// PolicyRun is what one policy made of the recording.
type PolicyRun struct {
	Policy        string       `json:"policy"`
	Title         string       `json:"title"`
	Approximation string       `json:"approximation,omitempty"` // which agents it approximates, and on what facts
	Turns         []Turn       `json:"turns"`
	Compactions   []Compaction `json:"compactions"`
	Rungs         []Rung       `json:"rungs"`
	Cost          Cost         `json:"cost"`
	Peak          int          `json:"peak"`              // the largest request
	Overflows     int          `json:"overflows"`         // requests larger than the window takes
	Stopped       *Stop        `json:"stopped,omitempty"` // the session could not go on
	Kept          Kept         `json:"kept"`              // in the last request
	Millis        float64      `json:"millis"`            // spent, reading the recording excluded
}

// Stop says where a policy had no way on.
type Stop struct {
	Turn   int    `json:"turn"`
	Reason string `json:"reason"`
}

// Turn is one request.
type Turn struct {
	Turn     int            `json:"turn"`           // 1-based
	Line     int            `json:"line,omitempty"` // of the reply in the recording
	Time     time.Time      `json:"time,omitzero"`
	Tokens   int            `json:"tokens"`
	Read     int            `json:"read"`    // from the provider's cache
	Written  int            `json:"written"` // to it
	Uncached int            `json:"uncached"`
	Output   int            `json:"output"`
	Parts    map[string]int `json:"parts"`            // tokens by kind of content
	Prompt   string         `json:"prompt,omitempty"` // what the user typed before it, shortened
	Tools    []string       `json:"tools,omitempty"`  // that the reply calls
}

// Compaction is one edit of a view.
type Compaction struct {
	Turn      int            `json:"turn"` // before whose request it happened
	Rung      string         `json:"rung"`
	Cause     string         `json:"cause,omitempty"`
	Before    int            `json:"before"`
	After     int            `json:"after"`
	Millis    float64        `json:"millis"`
	Call      *Call          `json:"call,omitempty"`     // a model would have been asked
	Boundary  string         `json:"boundary,omitempty"` // uuid
	Lost      map[string]int `json:"lost,omitempty"`     // tokens that left the view, by kind of block
	LostCount int            `json:"lostMessages,omitempty"`
	Summary   string         `json:"summary,omitempty"` // what stands for it, shortened
}

// Call is a summary request to a model.
type Call struct {
	Read     int     `json:"read"`
	Uncached int     `json:"uncached"`
	Output   int     `json:"output"`
	USD      float64 `json:"usd"`
}

// Rung adds up the compactions of one rung.
type Rung struct {
	Rung   string  `json:"rung"`
	Times  int     `json:"times"`
	Freed  int     `json:"freed"`
	Millis float64 `json:"millis"`
}

// Cost adds up the requests, summary calls included.
type Cost struct {
	Requests  int     `json:"requests"`
	Summaries int     `json:"summaries"` // calls to a model for a summary
	Read      int64   `json:"read"`
	Written   int64   `json:"written"`
	Uncached  int64   `json:"uncached"`
	Output    int64   `json:"output"`
	USD       float64 `json:"usd"`
	Priced    bool    `json:"priced"` // the model's prices are known
}

// Kept says how much of what matters the last request still holds. It is measured
// from the recording by rules that the ledger does not know.
type Kept struct {
	Words   Share `json:"userMessages"`
	Files   Share `json:"editedFiles"`
	Todos   Share `json:"openTodos"`
	Results Share `json:"results"` // a line from the middle of each result of some length
}

// Share is a part of a whole. Shortened is how many of the kept ones are there
// with their beginning only.
type Share struct {
	Kept      int `json:"kept"`
	Shortened int `json:"shortened,omitempty"`
	Of        int `json:"of"`
}

// Left is the session that a replay leaves.
type Left struct {
	ID   string `json:"id"`
	Path string `json:"path"`
}
