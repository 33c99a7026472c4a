// Package e2e tests the built program between real xDS clients and a real
// control plane: Envoy, grpc-go, gRPC for Node, gRPC for Java and gRPC's C core. It has no
// code of its own: what it needs of both ends is in package xdstest. It also
// records the sessions that package check is tested with, and runs the blocks
// of docs/tls.md that are marked as recipes.
//
// The clients that are not Go are installed into .tools/ by the scripts in
// tools/; a test whose client is not there is skipped, or fails if CI=true.
// The program is built from this tree, unless E2E_BINARY names another one.
package e2e
