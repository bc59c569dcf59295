// Package meta holds the tests that look at the project itself: which package
// may import which, what go.mod may name, whether each package says what it is
// for, how long files and functions are, and whether the documentation still
// tells the truth.
//
// It is for rules that a reviewer would otherwise have to remember. It is not
// for rules about behaviour: those belong beside the code that behaves. It
// contains no code of the product and nothing imports it.
//
// Start with layers_test.go: the table there is the architecture, and the rest
// of the project is checked against it. Every rule carries its reason, because
// a rule without one is deleted by the first person it disturbs. When a test
// here fails, either the change is wrong or the rule is; both are edited in
// the open, in the same commit.
package meta
