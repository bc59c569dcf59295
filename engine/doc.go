// Package engine is the one path from a log to a request and back. Agent, replay
// and embedders all use it:
//
//	e := engine.New(s, engine.Config{Caps: caps.Window(128_000)})
//	e.Append(message.User("hello"))
//	req, err := e.Prepare(ctx)
//	reply, err := myModel(req.Frame, req.Messages)
//	err = e.Record(ctx, req, reply)
//
// s is where the log is: a session of package session, or [Memory] for one that
// is not kept. Append adds what the user side says, Prepare computes what to
// send (repairs and decisions about large results become entries first, so that
// nothing that was sent is derived anew), Record adds the reply and a receipt of
// what was sent for it.
//
// What the engine guarantees: a request breaks no rule of the API's pairing; it
// fits the window, or an error names the parts that do not; it extends the
// request before it unless an edit was appended; a resumed session sends the
// bytes of the frame it began with. What it measures: the expected and the
// actual cached tokens of each request, and what changed when they differ.
//
// The engine does not talk to a model, run tools, or decide how to shrink a
// context: the latter is behind the interface [Ladder]; without one the oldest
// rounds are dropped, readably, when the window is full.
//
// An Engine is safe for concurrent use; Prepare and Record of one request belong
// to one caller.
package engine
