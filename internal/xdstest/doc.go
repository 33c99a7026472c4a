// Package xdstest holds both ends of an xDS conversation: a control plane that
// serves a go-control-plane cache, and clients that behave as Envoy, as a delta
// client and as gRPC do. The end-to-end tests put the proxy between them, and
// the demo plays a story with them.
//
// Each end can keep an Account of what it sent and received, taken from the
// very bytes that its codec produced or consumed, so that a recording can be
// held against it. Nothing here reads a recording or knows the proxy: the
// package refuses to be clever about what travels in between.
package xdstest
