// Package types makes the type of every xDS message known to a program, by its
// side effect on the global protobuf registry: Envoy's API of version 3, with its
// contributed extensions, and the CNCF's shared messages as Go types; and Envoy's
// API before version 3 as descriptors, whose messages are dynamic.
//
//	import _ "github.com/xdsproxy/xdsproxy/decode/types"
//
// It adds 13 MB to a stripped binary, 26 MB if the program asks messages by an
// interface to validate themselves, and 9 ms to its start. So only programs that
// show whole messages import it, and few test binaries do.
package types

//go:generate go run ./gen -o registry.go
