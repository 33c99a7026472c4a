// Package queue is what waits to be written to a log, bounded by what it holds
// of memory, and an account of what found no room.
package queue
