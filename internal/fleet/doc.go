// Package fleet finds the recordings of many proxies: below a directory, or below
// a prefix of a store of objects. It joins the segments of one recording, says of
// which proxy it is, and opens them one at a time. It reads no entry, judges
// nothing, and writes nothing anywhere.
//
// What it goes by are names: those of files and keys, which come from outside. A
// name says which file belongs to which, and never what is in it: that is asked of
// the recording when it is opened.
package fleet
