// Command xdsproxy stands between xDS clients and their control plane: it
// forwards every byte unchanged, decodes and records every message, and reads
// the recordings.
//
// This package wires the others together: flags, output, exit codes;
// one file a command. It decides nothing about HTTP/2, xDS or the format of a
// recording.
package main

import "os"

func main() {
	os.Exit(main1(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
