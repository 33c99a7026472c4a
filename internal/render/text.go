package render

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/shortname"
)

// printable says what may stand in any output as it is. Every form for people,
// and every JSON, asks it.
func printable(r rune) bool { return strconv.IsPrint(r) }

// Safe makes a string that came from outside harmless on a terminal: whatever
// is not printable (control characters, escape sequences, direction overrides,
// line separators, bytes that are not UTF-8) becomes a Go escape such as \x1b.
// A string of printable characters comes back unchanged.
func Safe(s string) string {
	i := firstUnprintable(s)
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for {
		b.WriteString(s[:i])
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b.WriteString(`\x`)
			b.WriteString(strconv.FormatUint(uint64(s[i]), 16))
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		if s = s[i+n:]; s == "" {
			return b.String()
		}
		if i = firstUnprintable(s); i < 0 {
			b.WriteString(s)
			return b.String()
		}
	}
}

func firstUnprintable(s string) int {
	for i, r := range s {
		if !printable(r) {
			return i
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}

// SafeLines is Safe for text of several lines: line feeds stay, and so do
// tabs.
func SafeLines(s string) string {
	ok := func(r rune) bool { return r == '\n' || r == '\t' || printable(r) && r != utf8.RuneError }
	if strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		body, ended := strings.CutSuffix(line, "\n")
		for i, cell := range strings.Split(body, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(Safe(cell))
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Width is the number of terminal columns that a printable string takes: two
// for wide East Asian characters and most emoji, none for combining marks.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += shortname.Columns(r)
	}
	return n
}

const ellipsis = "…"

// Middle shortens a string that stands alone to at most columns by leaving out its
// middle. Names in a list are shortened together, by package shortname.
func Middle(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	left := columns / 2
	head := prefix(s, left)
	return head + ellipsis + suffix(s, columns-1-Width(head))
}

// End shortens a sentence to at most columns by leaving out its end.
func End(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	return strings.TrimRight(prefix(s, columns-1), " ") + ellipsis
}

func prefix(s string, columns int) string {
	for i, r := range s {
		if columns -= shortname.Columns(r); columns < 0 {
			return s[:i]
		}
	}
	return s
}

func suffix(s string, columns int) string {
	i := len(s)
	for i > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:i])
		if columns -= shortname.Columns(r); columns < 0 {
			break
		}
		i -= n
	}
	// A combining mark must not end up on the ellipsis.
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if shortname.Columns(r) > 0 {
			break
		}
		i += n
	}
	return s[i:]
}

// PadRight and PadLeft fill a cell to its width. A cell that is too long stays
// as it is: a shifted row is better than a wrong one.
func PadRight(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-Width(s)))
}

func PadLeft(s string, columns int) string {
	return strings.Repeat(" ", max(0, columns-Width(s))) + s
}
