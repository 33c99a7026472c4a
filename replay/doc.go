// Package replay lets a recording play one side of its session again: the
// management server, against live clients, or the clients, against a live
// management server.
//
// A recording is read once into a Plan: its streams, and on each of them which
// message answered which. The plan holds no bodies; those are fetched again when
// it is their turn. A player then says what was said, in the recorded order,
// each message when what caused it has happened again, and compares what the
// other end says with what it said in the recording.
//
// Of a message only those fields are changed that cannot be the same again: a
// response gets a fresh nonce, a request the nonces and the versions that the
// live server gave. Everything else leaves byte for byte as it was recorded,
// with one exception: package standin replaces what was masked and has a format
// that clients check.
//
// Bisect plays a server that is more inventive: to a live client that has what the
// recorded one had it gives parts of a response that was rejected, until it is
// known which resources are to blame. It answers what the client asks for on the
// way, again if need be, and puts together the smallest conversation that proves
// what it found.
//
// The package speaks plaintext gRPC only: TLS is the business of whoever stands
// between it and the live side. It prints nothing, reads no flags, and
// judges nothing but whether it was the same, or rejected. What it cannot do it
// says in the Report.
package replay
