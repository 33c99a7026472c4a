// Package file reads the files of Envoy's filesystem subscriptions: one
// DiscoveryResponse each, in YAML, JSON, text or binary protobuf. It makes a
// session of them, as if a client had been watched while it read them.
//
// What a file means is what Envoy makes of it. The ending of the name says the
// format, and any other than those below means JSON:
//
//	.yaml .yml   YAML, of which the first document counts
//	.json        JSON
//	.pb_text     text
//	.pb          binary
//
// YAML and JSON are read by package lenient. A field that is not known, or a word
// that an enum does not have, is left out and counted; it is no error unless
// Envoy was told so. That, a key that stands twice and a second document are
// warnings here. .textproto and .txtpb, which Envoy takes for JSON, are read as
// text, with a warning.
//
// Errors and warnings name the place, and never a value: it might be a secret.
// Memory is bounded by a constant times the size of the file, which is bounded.
// The package opens no file, and says nothing of what the resources mean.
package file
