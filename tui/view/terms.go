package view

import (
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
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

// RowTerms are the terms of filters that take a row, those that people want most
// first.
func RowTerms(scr Screen, r *index.Row) []string {
	var out []string
	add := func(key, value string) {
		if value != "" {
			out = append(out, key+":"+value)
		}
	}
	w := scr.Log().Index.Words(r)
	add("client", quotedOrNone(w.Client))
	add("type", w.Type)
	if w.Stream != 0 {
		add("stream", strconv.FormatUint(uint64(w.Stream), 10))
	}
	if r.Kind == session.KindMessage {
		add("what", strings.ToLower(r.What.String()))
	}
	if f := scr.Seen().Finding(r.Seq); f != nil {
		add("rule", f.Rule.ID)
	}
	add("version", quotedOrNone(w.Version))
	add("nonce", quotedOrNone(w.Nonce))
	return out
}

func quotedOrNone(s string) string {
	if s == "" {
		return ""
	}
	return Quoted(s)
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
