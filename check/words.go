package check

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// list writes names for people: the first few, and how many more.
func list(names []string) string {
	const most = 3
	quoted := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", clip(n)))
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// round leaves of a duration what a person reads: 69µs, 251ms, 1.2s, 1m30s.
func round(d time.Duration) string {
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

// bounded is what a finding keeps of a string: all of it, unless a peer has
// written something that nobody would.
func bounded(s string) string {
	const most = 2048
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// clip shortens a name that a peer wrote.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// said quotes what a peer wrote. A text with quotes in it stands between
// backquotes, if all of it can be printed.
func said(text string) string {
	text = engine.Reason(text)
	unfit := func(r rune) bool { return r == '`' || r == utf8.RuneError || !strconv.IsPrint(r) }
	if strings.Contains(text, `"`) && strings.IndexFunc(text, unfit) < 0 {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// codeWord is the name of a gRPC status code.
func codeWord(code int32) string {
	words := [...]string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
		"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	}
	if code < 0 || int(code) >= len(words) {
		return fmt.Sprintf("status %d", code)
	}
	return words[code]
}

// counted writes a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// maxReason bounds what is read of a reason.
const maxReason = 4096
