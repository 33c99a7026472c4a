// Package bisect plays a management server that is more inventive than a replay: it
// gives parts of a rejected response to a live client that has what the recorded client
// had, until it is known which resources are to blame. It answers what the client asks
// for on the way, again if need be, and puts together the smallest conversation that
// proves what it found.
package bisect
