// Package report makes of a session what one attaches to an issue: the part of it
// that proves what was found, a report to read, the findings, and how to see it
// happen again, in one zip. Before anything is written it tells what in it was
// masked and which names remain readable.
//
// It decides nothing about a conversation: what was found it asks of check, what
// belongs to a finding of convert.
package report
