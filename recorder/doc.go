// Package recorder keeps the log of a session: Append takes entries from the
// relay, a goroutine writes them to a file, and a Reader gives them back, from
// a file that is finished as well as from one that is still growing.
//
// Append never waits: for no disk, no compressor, no reader. What does not fit
// into the bounded queue is dropped, and a Gap entry says so. A connection may
// hold twice as much of the queue as it leaves free: one that floods it loses
// entries of its own, while others find room. What a Reader sees has passed
// Options.Transform, which is where secrets are masked: nothing else reads the
// queue.
//
// A recording may be one file, or segments of bounded size of which the oldest
// are deleted, on disk or, as a ring, in memory; a Reader goes through what is
// left of them as if it were one file.
//
// The package refuses to know what a message means. It knows no xDS, judges
// nothing, and opens no connection.
//
// # Format, version 1
//
// docs/format.md in the repository has the byte tables. In short, a recording
// is a sequence of zstd frames and skippable frames (RFC 8878):
//
//	file  = header { block | index } [ end ]
//	block = block header, zstd frame
//
// A block header says how long the zstd frame is and what its checksum is, and
// sums up its entries, so that facts and places are found by hopping from
// header to header. A block is the unit of loss: it is there as a whole, or it
// counts as not written. Index frames repeat block headers; the end mark is
// written by a regular Close and says where the last index is.
//
// Content is stored once. The data of a message is a row of literal bytes, new
// content, and runs of content that was met before, by number. Numbers begin
// anew with each epoch, which bounds what a reader has to keep. What is content
// is decided by how Options.Transform cuts a message into chunks: the package
// itself only compares them.
package recorder
