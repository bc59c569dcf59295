// Package validate is the second opinion on a request: it reads the bytes that are about to be sent to the Messages API and names
// every rule of the provider that they break.
//
// It is for the engine, which asks before each send, and for tests, which ask about everything that view, compaction and repair
// produce. It does not repair, and it does not decide whether a request fits the window. It judges the canonical (Anthropic) form;
// adapters of other protocols convert from that form. What depends on the model (prefill, system messages inside the
// conversation, limits on images) is an option, since capabilities are data.
//
// Start with [Check] for the bytes of one request, [CheckAfter] for a request together with what was sent and received before it,
// and [Guard] for the requests of a session one after the other: what was looked at once is not looked at again.
//
// # What it guarantees
//
// It imports nothing else of the module and reads JSON with encoding/json alone, so that it cannot share a mistake with the code it
// judges. The names of the rules are stable, those that package message also knows are the same there. Violations come in the order of
// the request; the same bytes and options give the same violations. No input makes it panic; what is not JSON is a violation.
//
// # Reasoning that is bound to its prefix
//
// Current models sign reasoning together with everything before it: the system text, the tools and all earlier blocks. With
// [Options].Bound each thinking block must be one that was received (or was part of a request the model accepted), byte for byte,
// and what stands before it must be what stood before it then. Not compared are cache_control markers, tools that are loaded
// later (defer_loading) and how messages of one role are divided. Thinking may be left out, whole replies at a time, from the start
// or from the end, not from the middle; a server's compaction block may stand first in place of exactly what it covers.
package validate
