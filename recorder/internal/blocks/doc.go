// Package blocks writes a recording: it plans which bytes of a message are
// stored and which were stored before, compresses entries into blocks, and puts
// each block into the file as a whole. It starts no goroutine, and its user
// decides when a block ends.
package blocks
