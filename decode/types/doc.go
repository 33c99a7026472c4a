// Package types links the Go types of every xDS message into a program, for
// its side effect on the global protobuf registry: all of Envoy's API, versions
// 2 and 3, with its contributed extensions, and the CNCF's shared messages.
//
//	import _ "github.com/xdsproxy/xdsproxy/decode/types"
//
// It adds 34 MB to a stripped binary and 9 ms to its start, so only programs
// that show whole messages import it, and few test binaries do.
package types

//go:generate go run ./gen -o registry.go
