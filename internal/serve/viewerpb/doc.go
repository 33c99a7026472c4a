// Package viewerpb is the service of viewer.proto, as protoc makes it. It refuses
// to hold anything that was written by hand.
package viewerpb
