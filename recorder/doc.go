// Package recorder reads and writes recordings of sessions: entries in the order
// in which they passed.
//
// # Reading
//
// Open, or NewReader for a pipe, returns a Reader, whose Next gives one entry
// after the other, from a file that is finished as well as from one that is
// still growing. Seek and Want pass over what is not wanted; Inspect says what a
// file holds without reading its entries. A recording may be one file, or
// segments of bounded size of which the oldest are deleted; a Reader goes
// through what is left of them as if it were one file.
//
// # Writing
//
// Create, or NewRing for one that is kept in memory, returns a Log: Append takes
// entries from the relay, and a goroutine writes them.
//
// Append never waits: for no disk, no compressor, no reader. What does not fit
// into the bounded queue is dropped, and a Gap entry says so. A connection may
// hold twice as much of the queue as it leaves free: one that floods it loses
// entries of its own, while others find room. What a Reader sees has passed
// Options.Transform, which is where secrets are masked: nothing else reads the
// queue. What is content, which is stored once, is decided by how
// Options.Transform cuts a message into chunks: the package itself only compares
// them.
//
// The package refuses to know what a message means. It knows no xDS, judges
// nothing, and opens no connection. The bytes of a recording are the business of
// recorder/internal/format; docs/format.md has the tables.
package recorder
