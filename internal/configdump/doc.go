// Package configdump reads what an Envoy says that it holds: the JSON of its
// admin endpoint /config_dump, as Envoy writes it, with and without
// ?include_eds, or as istiod passes it on with names in camel case. It
// tells the resources apart by their names and states, and judges none of them.
//
// What it reads is hostile: it is bounded, a resource that cannot be read is kept
// by its name with the reason, and what is unknown around it is passed over.
//
// Envoy does not dump what it was sent, but what it made of it. Two things are
// made the same again by Plain, for both sides of a comparison:
//
//   - Fields that the API calls sensitive are redacted, in every Any and
//     TypedStruct, too (MessageUtil::redact in Envoy).
//   - Endpoints are written anew from the hosts of the cluster, with defaults
//     filled in and without what only the assignment had
//     (ConfigDumpHandler::dumpEndpointConfigs).
package configdump
