// Package client plays the clients of a recording to a live management server,
// and compares what it sends with what the recorded one sent.
package client
