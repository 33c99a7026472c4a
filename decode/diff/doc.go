// Package diff compares two decoded trees, such as two versions of a resource,
// and says what differs where.
//
// It compares what is meant: a list in which order means nothing is a set
// (fields.go says which lists are), elements of lists are found again by their
// names or addresses, and the order of members never counts. What it is given
// are trees as package decode makes them. Message types come from the global
// registry; of a message that is not there every list is taken for ordered.
//
// The work is bounded by the size of the trees, up to a logarithm: where an
// exact answer would take longer, or where there are very many differences, the
// answer is coarser, says so, and is still right. The package performs no I/O,
// starts no goroutine, and makes no text for people: that is render's.
package diff
