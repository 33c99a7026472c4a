package tui

import "strings"

// plainText is all of the text.
func (p *textPane) plainText() string { return linesText(p.lines) }

func linesText(lines []textLine) string {
	var b strings.Builder
	for i := range lines {
		b.WriteString(lines[i].plainText())
		b.WriteByte('\n')
	}
	return b.String()
}

// underCursor is what is copied of the selected line: its value, or all that
// belongs to it, and what that is called.
func (p *textPane) underCursor() (text, what string) {
	at := p.current()
	if at < 0 {
		return "", ""
	}
	l := &p.lines[at]
	end := p.inner(at)
	switch {
	case l.value != "" && l.name != "":
		return l.value, "the value of " + l.name
	case l.value != "":
		return l.value, "the value"
	case end > at+1 && l.name != "":
		return dedent(linesText(p.lines[at:end])), l.name + " with all that is in it"
	case end > at+1:
		return dedent(linesText(p.lines[at:end])), "the line with all that is in it"
	}
	return strings.TrimSpace(l.plainText()), "the line"
}

// dedent takes away the columns that all lines begin with.
func dedent(text string) string {
	least := -1
	for l := range strings.Lines(text) {
		if n := len(l) - len(strings.TrimLeft(l, " ")); strings.TrimSpace(l) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	if least <= 0 {
		return text
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(l[min(least, len(l)-len(strings.TrimLeft(l, " "))):])
	}
	return b.String()
}
