// Package check holds what xDS messages mean in their conversation against the
// rules of the protocol.
//
// A Checker steps an Engine, which keeps the account of the conversations, and
// lets rules look at each entry in its light. What a rule proves is a Finding.
// Like the Engine it is a pure function of the entries that it has seen: it reads
// no clock, starts no goroutine, performs no I/O, and the same session read again
// gives the same findings.
//
// The table in rules.go says of each rule which functions look. They stand in the
// files rules_*.go; what people read of a rule stands in package catalogue. What a
// rule has to remember is kept with the stream or type that it is about, see
// slots.go, and goes with that.
package check
