package tui

import (
	"strings"
)

// splitTerms are the terms of a filter, as far as that matters to tell whether
// one is there.
func splitTerms(text string) []string { return strings.Fields(text) }

func join(text, term string) string { return strings.TrimSpace(text + " " + term) }

// quoted makes a value of a filter of a text that came from a peer.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " ,\"*()|/:") {
		return `"` + strings.ReplaceAll(s, `"`, "*") + `"`
	}
	return s
}

// shellWord writes a word as a shell reads it.
func shellWord(s string) string {
	for _, c := range s {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-", c) {
			return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return s
}
