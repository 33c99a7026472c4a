// Package pseudonym replaces the names in a recording by stand-ins: node ids,
// clusters, hosts, addresses, paths, metadata, versions, nonces and the subjects
// of certificates. A stand-in has the shape of what it stands for, and equal
// names have equal stand-ins everywhere: in fields, inside of other names and in
// the texts of errors. So the conversation keeps its meaning, and rules find in
// it what they found before.
//
// It goes twice over a recording. First a Names learns, by doing what it will do
// later without keeping it; then it is settled, and maps. What is written is
// searched for all that was learnt.
//
// What is not known to be harmless is replaced. Harmless are the names of the
// API (types, fields, enums, methods, extensions), which come from the linked
// descriptors, and the lists in words.go. In a text that people read, words of
// such texts stay, too, unless something is called so.
//
// The package decides nothing about a conversation, reads and writes no
// recording, and has no way to the secrets that masks hide: they stay masked.
package pseudonym
