// Package format is version 1 of the recording format, as bytes: headers, index,
// end mark, entries, and the dictionary of contents that a reader keeps.
// docs/format.md has the tables. It opens no file.
package format
