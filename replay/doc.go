// Package replay makes a plan of a recording, by which one side of its session
// can be played again: package server plays the management server to live
// clients, package client the clients to a live management server, and package
// bisect finds out which resources of a rejected response are to blame.
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
// The players speak plaintext gRPC only: TLS is the business of whoever stands
// between them and the live side. They print nothing, read no flags, and
// judge nothing but whether it was the same, or rejected. What they cannot do
// they say in the Report.
package replay
