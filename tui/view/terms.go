package view

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// SplitTerms are the terms of a filter, as far as that matters to tell whether
// one is there.
func SplitTerms(text string) []string { return strings.Fields(text) }

func Join(text, term string) string { return strings.TrimSpace(text + " " + term) }

// Quoted makes a value of a filter of a text that came from a peer.
func Quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " ,\"*()|/:") {
		return `"` + strings.ReplaceAll(s, `"`, "*") + `"`
	}
	return s
}

// Forecast says how many rows a filter would show, of how many.
func Forecast(shown, of int) string {
	if shown == of {
		return "shows all " + render.Number(of)
	}
	return "shows " + render.Number(shown) + ", hides " + render.Number(of-shown)
}

// ShellWord writes a word as a shell reads it.
func ShellWord(s string) string {
	for _, c := range s {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-", c) {
			return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	return s
}
