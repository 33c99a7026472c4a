// Package binlog reads the binary logs of gRPC: what a program with
// GRPC_BINARY_LOG_FILTER writes of its calls (gRFC A16), a file of
// grpc.binarylog.v1.GrpcLogEntry, each after its length. gRPC for Go writes the
// length as four bytes, most significant first, gRPC for Java as a varint.
//
// A log has the headers and messages of each call, uncompressed, on the side of
// the client or of the server. It knows no connections: calls of one authority,
// or of one peer, count as one connection here. It knows no resets and no bytes
// of HTTP/2.
//
// A file may be hostile: memory is bounded by maxRecord, whatever its lengths
// say, by maxHeaders and maxFields of what is not a message, and by maxCalls. The package opens nothing and keeps no payload.
package binlog
