// Package synth makes the bytes of xDS messages from short descriptions: the
// inverse of decode.Peek, for conversations that nobody has recorded.
//
// The same description gives the same bytes, and two resources differ in their
// content exactly if their descriptions do. What one resource is said to refer
// to is real: a cluster whose endpoints come over ADS has a config source that
// says so, a route names its clusters. Unless a description asks for a fault,
// resources satisfy the constraints of their type.
//
// It makes what a description says and nothing else: it checks no conversation,
// decides nothing about versions or nonces, reads no clock, performs no I/O and
// starts no goroutine. It refuses what a type cannot express, such as a secret
// that names a cluster: Resource.Check says why. All texts must be valid UTF-8.
package synth
