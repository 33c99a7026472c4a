// Package pushes groups the responses of a server that belong together, over
// types, streams, connections and clients: one change of a control plane is many
// of them.
//
// Responses belong together that have one version, or one time in front of their
// versions where the server writes one there (Istio's "2026-08-27T10:00:00Z/12"),
// or else that come in one burst, see Options.Within. A version tells nothing where a
// client is sent it again with other contents. What a client was sent
// because it had just asked for it belongs to the push that made it ask, as
// endpoints do to their cluster. Where there was none it is a start: a client came
// and was given what there is.
//
// It keeps no account of its own: what a message means, which client it is, what
// changed in what it has, and who accepted or rejected what, is asked of
// internal/engine. It judges nobody, reads no clock and starts no goroutine.
//
// Memory is bounded, see Limits. What was let go is counted where it is missing.
package pushes
