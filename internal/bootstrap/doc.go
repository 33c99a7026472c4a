// Package bootstrap finds the xDS servers that a client's bootstrap names, and
// writes the bootstrap again with other addresses in their place. It reads
// Envoy's bootstraps, in YAML and JSON, and those of gRPC, in JSON.
//
// A server is found by how the client gets there: a cluster or a target that an
// ApiConfigSource names, wherever it stands (ADS, single types, SDS, HDS, LRS),
// or an entry of xds_servers. A server that no other address can stand in for,
// because the client finds it in a way that a bootstrap does not show, or speaks
// TLS to it in a way that nobody can take over, comes with what is in the way.
//
// Where the client speaks TLS to a server, the bootstrap that is written lets it
// speak plaintext, and the server comes with what the client showed of itself
// and asked of the server's certificate: whoever stands in has to do the same.
//
// The package opens no file and no socket (a reader of files may be given), and knows no schema beyond the fields
// it needs: what it does not know stays as it was. It works on a tree that keeps
// the order of keys, and in YAML the comments. Aliases are resolved first, so
// that a change in one place is none in another; the tree that they make is
// bounded, as is its depth.
package bootstrap
