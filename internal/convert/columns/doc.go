// Package columns writes recordings as tables in Parquet, which docs/columns.md
// describes, into a directory that engines query.
//
// What a message means, which client it is, what is new in a response and what a
// rule proves is asked of the Checker that a recording is read through; this package
// keeps no account of its own. It judges nothing and reads no recording by itself:
// entries are handed to it.
//
// Nothing is written in place. A file is written beside, in incomplete, brought to the
// disk, and renamed. Files that belong together form a part: the entries of a stretch
// of one recording on one day, and what came of them. The file of its entries is
// renamed last. So it says, by its name alone, what has been exported, or where its name
// says that there are holes in it by the numbers of its rows: a file of acks or
// connections without it was left by a run that was ended, and is removed. There is no
// list of files that could say something else.
//
// Contents of resources are in the directory once. They are brought to the disk before
// the entries that refer to them, and stay if these never come.
//
// Findings, open connections and the standing of clients are told of a whole
// recording. Their files are written anew before the last part of a run is, so that
// they are as new as the entries, or else the next run writes them.
package columns
