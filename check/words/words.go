// Package words is how findings are worded: names, numbers, times and what peers
// wrote, short enough to be read.
package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// List writes names for people: the first few, and how many more.
func List(names []string) string {
	const most = 3
	quoted := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", Clip(n)))
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Round leaves of a duration what a person reads: 69µs, 251ms, 1.2s, 1m30s.
func Round(d time.Duration) string {
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(time.Millisecond)
	default:
		d = d.Round(time.Microsecond)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Bounded is what a finding keeps of a string: all of it, unless a peer has
// written something that nobody would.
func Bounded(s string) string { return clip.Text(s, 2048) }

// Clip shortens a name that a peer wrote.
func Clip(s string) string { return clip.Text(s, 200) }

// Said quotes what a peer wrote. A text with quotes in it stands between
// backquotes, if all of it can be printed.
func Said(text string) string {
	text = engine.Reason(text)
	unfit := func(r rune) bool { return r == '`' || r == utf8.RuneError || !strconv.IsPrint(r) }
	if strings.Contains(text, `"`) && strings.IndexFunc(text, unfit) < 0 {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// Code is the name of a gRPC status code.
func Code(code int32) string {
	words := session.GRPCCodes()
	if code < 0 || int(code) >= len(words) {
		return fmt.Sprintf("status %d", code)
	}
	return words[code]
}

// Counted writes a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Masked takes a client's name out of a text, where it is not part of another.
func Masked(text, client string) string {
	if client == "" {
		return text
	}
	var b strings.Builder
	for from := 0; ; {
		i := strings.Index(text[from:], client)
		if i < 0 {
			return b.String() + text[from:]
		}
		i += from
		end := i + len(client)
		b.WriteString(text[from:i])
		if i > 0 && nameByte(text[i-1]) || end < len(text) && nameByte(text[end]) {
			b.WriteString(client)
		} else {
			b.WriteByte('#')
		}
		from = end
	}
}

func nameByte(c byte) bool { return engine.InWord(c) || c == '.' || c == '~' }
