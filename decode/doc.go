// Package decode says what the bytes of a message mean.
//
// Peek reads the envelope of a discovery message: type, version, nonce, names,
// node, error. It unmarshals no resource and costs a fraction of a microsecond for
// each. Decode takes everything apart, resources and every Any in them included,
// into a document that prints as JSON or YAML. It needs the message types: they
// come from the global protobuf registry, which package decode/types fills. A
// program that shows messages imports that package for its side effect; without
// it, messages appear as field numbers. Streams follows the entries of a recording
// and knows what both want to know of a stream.
//
// What else there is to do with a message has a room of its own:
//
//   - descriptors: message types that are described, and not linked. A Decoder may
//     have them.
//   - document: the decoded tree, its writers, and the fields as they stand in
//     the bytes.
//   - chunk: messages in pieces, so that what is repeated is stored and read once.
//   - mask: replaces secrets before anything is stored or shown. It follows a table
//     derived from the message types, so it needs none of them linked.
//   - constraints: what a message violates of the constraints that are written
//     into its type.
//   - inspect: what a resource refers to, whether it is sound, and what its content
//     is, whatever the order in which it is encoded.
//   - diff, file, synth: compares documents, reads files of resources, makes
//     messages.
//
// Nothing here fails: each function returns what it could make of the bytes
// together with the problems, and none panics, whatever it is given. Memory is
// bounded by a constant times the size of the input. No room performs I/O, starts
// a goroutine, or judges: what a message means in its conversation is decided in
// internal/engine.
package decode
