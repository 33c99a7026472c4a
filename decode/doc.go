// Package decode turns bytes seen on a stream into what they mean.
//
// There are several depths, each for its own price:
//
//   - Peek scans the envelope of a discovery message: type, version, nonce,
//     names, node, error. It never unmarshals a resource and costs a fraction
//     of a microsecond for each.
//   - Decode takes everything apart, resources and every Any in them
//     included, into a Document that prints as JSON or YAML. It needs to know
//     the message types: they come from the global protobuf registry, which
//     package decode/types fills. A program that shows messages imports that
//     package for its side effect; without it, messages appear as field
//     numbers.
//   - Inspector says of one resource what it refers to, whether it is sound,
//     and what its content is, whatever the order in which it is encoded. It
//     goes over the bytes once, with the types of the same registry, and
//     takes about as long as it would to unmarshal them.
//   - Masker replaces secrets before anything is stored or shown. It follows a
//     table derived from the message types, so it needs none of them linked.
//     On the way it cuts responses into resources, as Splitter does alone.
//
// Nothing here fails: each function returns what it could make of the bytes
// together with the problems, and none panics, whatever it is given. Memory is
// bounded by a constant times the size of the input. The package performs no
// I/O, starts no goroutine, and judges nothing: what a message means in its
// conversation is the business of package check.
package decode
