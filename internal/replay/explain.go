package replay

// What a reader who has read nothing else is told beside the figures, the same in
// the terminal and on the page.

// Intro says what a replay is.
const Intro = "Each request of this session was prepared again, without a model; nothing was sent anywhere. " +
	"Before a request gets too large for the window, the conversation is shortened."

// RungMeaning says what a rung does to the conversation; "" for one that is not known.
func RungMeaning(rung string) string { return rungMeanings[rung] }

var rungMeanings = map[string]string{
	"micro":   "old tool results are cleared, as the cache is lost anyway",
	"server":  "the provider clears old tool results (simulated)",
	"notes":   "the session's notes stand for what they cover",
	"full":    "a model's summary stands for the older messages",
	"ledger":  "facts found by rules stand for the older messages",
	"drop":    "the oldest messages leave: nothing else helped any more",
	"clear":   "old tool results are cleared",
	"summary": "a summary stands for the older messages",
}

// Column explains a column of the table that compares policies.
type Column struct{ Names, Meaning string }

// Columns explains the table that compares policies.
func Columns() []Column {
	return []Column{
		{"peak", "tokens of the largest request"},
		{"sums", "summaries that a model would have had to write"},
		{"uncached, written, cached, output", "tokens of all requests as a provider bills them: sent anew, put into its cache, read from it, replied"},
		{"cost", "the same in US dollars"},
		{"messages, files, todos", "what the last request still holds of people's messages, changed files and open todos"},
	}
}
