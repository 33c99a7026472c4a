// Package serve lets others watch a proxy while it runs: a Server gives the
// recording that is being written to viewers, over gRPC on a unix socket or, where
// asked for, on TCP; a Client reads it there, and comes back where it was when its
// connection is lost.
//
// What goes over the wire is the recording itself, whole blocks as they were
// committed, so that there is one format and one reader of it. The Server reads no
// entry, keeps nothing for a viewer but a buffer of fixed size, and waits for its
// slowest viewer in that viewer's own goroutine: nothing that a viewer does holds
// up the log, and nothing here has a way to the relay.
//
// The package refuses to change anything: no call of the service does.
package serve
