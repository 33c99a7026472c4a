// Package index is what the screen knows of a log: a small row for each entry
// that has a line, the findings, where clients stand, and counts.
//
// A Feed fills it from a reader of its own, the same way from a file as from a
// log that is being written, and is never waited for: the screen looks at what
// is there. Rows keep no text of messages but versions and nonces; the text of
// the few entries that are visible is read again by a Fetcher.
//
// The package draws nothing and knows no keys.
package index
