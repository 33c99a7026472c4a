// Package decompress undoes what grpc-encoding says of a message, within bounds.
package decompress
