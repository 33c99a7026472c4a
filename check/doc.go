// Package check knows what xDS messages mean in their conversation.
//
// A Tracker reads the entries of a session in order and says of each what it
// changed: which response a request accepts or rejects, which names it begins
// or ceases to want. It is a pure function of the entries that it has seen: it
// reads no clock, starts no goroutine, performs no I/O, and the same session
// read again gives the same changes. Memory is bounded whatever the peers
// send; where something had to be forgotten, later changes say that they are
// uncertain.
//
// State is kept per stream and resource type. Nonces, versions and names never
// leak from one stream or type to another.
package check
