// Package format is version 1 of the recording format, as bytes: headers, index,
// end mark, entries, and the dictionary of contents that a reader keeps. It opens
// no file.
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
// anew with each epoch, which bounds what a reader has to keep.
package format
