// Package modelsim is the scripted outside: an HTTP server that speaks a model API, says what a script tells it to, and is stricter
// than the real one about what it is sent. It speaks the Anthropic Messages API (versions 2023-06-01 and 2026-10-21).
//
// It is for tests of whatever talks to such an API, this module's and yours; nothing of the product depends on it. It is no model, no
// proxy and no load generator, and it knows no secrets worth keeping: its signatures are made for tests.
//
// Start with [ForTest] or [Start] and point an SDK at [Server.URL]; then ask [Server.Violations], [Server.Requests], [Server.Breaks]
// and [Server.Report] what happened. [New] gives the handler alone; the command in cmd/modelsim serves on a port.
//
// # What it judges
//
// Every request is held against all rules at once: headers and betas, fields, models, the pairing rules (internal/validate, which
// shares no code with what builds requests), reasoning signed with an HMAC and bound to everything before it, compaction blocks. The
// first violation is answered in the API's words, all are recorded. [Config].Lenient only counts them.
//
// What the model sees is computed as the API does it: context editing, dropped reasoning, compaction; a prompt cache at the
// granularity of blocks with breakpoints, look-back, smallest prefix and lifetimes; windows, also such that are smaller than told.
// Token counts are those of package tokens times a factor; prices and abilities are those of package caps.
//
// # Guarantees
//
// The same script, seed and clock give the same answers to the same requests, ids and signatures included. A retried request gets ids
// of its own. Close ends what hangs and leaves no goroutine. No input makes it panic.
//
// # Scripts
//
// A script is lines. Blank lines and lines that begin with # mean nothing. Sections answer requests:
//
//	turn [times N]                answers once (N times), in the order of the script
//	on CONDITION [and …] [times N]  answers whenever the conditions hold, before any turn
//	default                       answers when the turns are used up; without one the user's text is echoed
//
// Requests for a summary (compaction) and for counting tokens use no turn; "on compaction" and "on count" answer them. Conditions,
// each with "not" in front if need be:
//
//	last ~ /RE/     the text of the last user turn         result ~ /RE/   the tool results in it
//	any ~ /RE/      everything in the messages             system ~ /RE/   the system text
//	model ~ /RE/    header NAME ~ /RE/                     tool NAME       a tool is offered; tools: any is
//	tokens > N      size of the prompt (<, >, or nothing)  request N       the number of the request; every N
//	compaction      a request for a summary                count           a request to count; stream
//
// The lines of a section are what it answers, in their order:
//
//	say TEXT               text: the rest of the line, a JSON string, @FILE of the archive, or <<END and lines up to END
//	think TEXT             signed reasoning                redacted        reasoning that only the server can read
//	call NAME {JSON}       a tool call; several are parallel. NAME|NAME, or "or NAME {JSON}", is made with the first that is offered
//	echo                   the user's text                 fill N          about N tokens of filler
//	summarize              each line with a NEEDLE-… and the start of each user text, as text or as the summary that was asked for
//	block {JSON}           any content block, as it is
//	stop REASON [SEQUENCE] the stop reason                 refuse [CATEGORY [TEXT]]
//	null [REASON]          HTTP 200 without the summary
//
// and what goes wrong before that, each once, or "times N", or "always":
//
//	fail STATUS [TYPE] ["MESSAGE"] [plain] [HEADER=VALUE …]    plain: the body is no JSON
//	overflow               "prompt is too long" although it is not
//	drop, end, hang, malformed, error [TYPE] ["MESSAGE"]       cut the reply: the connection breaks, ends, stands still, carries
//	                       a broken event, or an error event; "after N" bytes, or "in call", "in think", "in say"; else half-way
//
// A section that only goes wrong lets the next that fits answer when it has nothing left. How a reply is sent, in a section or, before
// the first one, for all:
//
//	delay D   before the reply     slow D   before each event     split N|random   bytes of a write
//	ping N    every N events       event NAME {JSON}              usage zero|{JSON} what the client is told in place of the truth
//
// Before the first section also: model NAME [window N] [true N] [output N] [mincache N] [factor F] [sum true] [bound true].
//
// Texts, and strings in the JSON of calls, may hold ${1} or ${name}, what a condition captured, ${n} (number of the request), ${use} (of
// the section), ${last}, ${result}, and ${1+1}: a number with something added. So an agent is led through hundreds of steps:
//
//	turn
//	  call read {"path":"part-1.txt"}
//	on result ~ /part (\d+) of 300/ and not result ~ /part 300 of/
//	  call read {"path":"part-${1+1}.txt"}
//	default
//	  say All read.
//
// A script may be a txtar archive; its comment is the script. A script that begins with "[" is JSON: an array whose strings are lines,
// and whose objects are sections. Texts, blocks and calls may be objects:
//
//	["delay 1s",
//	 {"turn": [{"think": "two\nlines"}, {"call": "read", "input": {"path": "a.txt"}}], "times": 2},
//	 {"on": "result ~ /part/", "do": ["echo"]},
//	 {"default": [{"say": "All read."}]}]
package modelsim
