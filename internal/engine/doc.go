// Package engine keeps the one account of the conversations of a session: which
// response a request accepts or rejects, which client it is, what that client
// asks for, what it was sent, and what of that it has accepted. Everything that
// tells something of a session asks it: rules, status, tree, the versions of a
// resource, what a part of a recording needs, labels, replay and the screen.
//
// An Engine reads the entries of a session in order. Step enters one and returns
// a Change: what it means, and what it was entered into. An Engine is a pure
// function of the entries that it has seen. It reads no clock, starts no
// goroutine, performs no I/O and judges nobody: what is wrong with a
// conversation is for the rules of package check.
//
// State is kept per stream and resource type. Nonces, versions and names never
// leak from one stream or type to another; what a client has accepted goes on
// from one of its streams to the next. See verdict.go for what is an ACK, and
// client.go for which streams are of one client.
//
// What lives is kept as it is. What is over, that is streams that have ended,
// clients that have left and versions that resources had, has a budget in bytes,
// see past.go. Where something was forgotten or not seen, the account says less,
// and nothing false.
//
// Fields that are exported are for reading; only the engine writes to them, but
// for Memory and Lasting, which belong to those who look.
package engine
