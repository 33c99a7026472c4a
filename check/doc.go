// Package check holds what xDS messages mean in their conversation against the
// rules of the protocol.
//
// A Checker steps an Engine, which keeps the account of the conversations, and
// lets rules look at each entry in its light. What a rule proves is a Finding.
// Like the Engine it is a pure function of the entries that it has seen: it reads
// no clock, starts no goroutine, performs no I/O, and the same session read again
// gives the same findings.
//
// What a rule has to remember stands in a slot of the stream or type that it is
// about, see slots.go, and goes with that.
package check
