// Package grpcdump reads what grpc-dump of bradleyjkemp/grpc-tools writes: one JSON
// object for each call, when that is over.
//
//	{"service":…, "method":…, "messages":[{"message_origin":"client"|"server",
//	 "raw_message":base64, "message":…, "timestamp":RFC 3339}…],
//	 "error":{"code":"Unavailable","message":…}, "metadata":{name:[…]},
//	 "metadata_response_headers":…, "metadata_response_trailers":…}
//
// A dump has the messages of each call with their times, and its headers without times.
// It has no connections, no resets, and no call that was still open. Calls of one
// authority count as one connection here. A call begins with its first message and
// ends with its last, as far as a dump tells.
//
// Calls stand in the order in which they ended, and lie beside each other in time. So
// all are read before the first entry is given: memory is bounded by MaxBytes, which
// counts what calls, messages and header fields take beside their bytes. What a longer
// dump has behind that is left out, which is an error.
package grpcdump
