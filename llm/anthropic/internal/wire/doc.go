// Package wire is the Messages API as bytes: the body of a request put together
// from its pieces (Build), and a reply put together from the events of a stream
// (Accumulator). It is apart from the adapter so that it can be tested and fuzzed
// without linking the SDK, which is a large package.
//
// It sends nothing and knows no keys. Start with Defaults.Build and Accumulator.
// What it guarantees: pieces are copied byte for byte, and a conversation that
// grows only appends to its body, cache marks aside; what an Accumulator accepts
// is a message whose bytes are those that arrived, and no input makes it panic.
package wire
