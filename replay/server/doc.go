// Package server plays the management server of a recording to live clients,
// and compares what they say with what the recorded ones said.
package server
