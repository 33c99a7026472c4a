package convert

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Text that peers chose stands in three places of a report, each with its own
// way of being harmless: between backticks, in fenced blocks, and in summaries
// of what is folded, which are HTML.

// code is a text between backticks, more of them than it has in a row: nothing
// in between means anything in Markdown. It must not begin a line.
func code(s string) string {
	s = render.Safe(s)
	if strings.Trim(s, " ") == "" {
		return "-"
	}
	ticks := strings.Repeat("`", longest(s)+1)
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' {
		s = " " + s + " " // which are taken away again
	}
	return ticks + s + ticks
}

// fenced is a block of text as it is, between fences longer than any in it.
func fenced(language, text string) string {
	fence := strings.Repeat("`", max(3, longest(text)+1))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + language + "\n" + render.SafeLines(text) + fence + "\n"
}

// longest is how many backticks there are in a row, at most.
func longest(s string) int {
	most, row := 0, 0
	for i := range len(s) {
		if row++; s[i] != '`' {
			row = 0
		}
		most = max(most, row)
	}
	return most
}

// entities is a text in HTML, where whatever is no plain letter, digit or space
// is written as the number of its character: it means nothing in Markdown, either.
func entities(s string) string {
	var b strings.Builder
	for _, r := range render.Safe(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == ' ', r == '-', r > 0x9f:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String()
}

// folded is a block that is opened by a click.
func folded(summary, block string) string {
	return "<details><summary><code>" + entities(summary) + "</code></summary>\n\n" + block + "\n</details>\n"
}
