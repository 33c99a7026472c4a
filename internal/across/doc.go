// Package across makes one answer of many recordings: one report, one list, one
// order of time. Each recording is a session of its own, and is read and judged as
// it would be alone; what findings have in common is asked of package check. It
// keeps no account of what any entry means.
package across
