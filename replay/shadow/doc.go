// Package shadow follows a recording as it grows, and says what a second
// control plane would have answered to the clients in it.
//
// What clients ask is taken from the engine's account of the recording: their
// subscriptions as they stand. The target is asked for the same, with nonces,
// versions and answers of the shadow's own, and what it says is entered into an
// engine, too. Compared are the two accounts: what either server has given a
// client, resource by resource, whatever the messages it came in. See compare.go
// for when that is a difference, noise.go for when it is none, leg.go for what
// happens when the target is slow or away.
//
// The package does not know of the proxy, and the proxy not of it. It speaks
// plaintext gRPC, prints nothing and reads no flags.
package shadow
