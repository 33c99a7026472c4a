// Package xds holds what the protocol itself fixes: its resource types, its
// methods, and the names of its messages. It reads no message and judges
// nothing. Its tables are never written to.
package xds
