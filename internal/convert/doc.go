// Package convert writes a session, or a part of one, in other forms: as a
// recording of its own, as a table, as a report for a bug tracker.
//
// It opens no source and knows no settings: its caller walks over the entries
// and says which of them were chosen. It judges nothing: what entries mean, and
// what rules found, comes with them.
package convert
