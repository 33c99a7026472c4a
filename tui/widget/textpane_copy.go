package widget

import (
	"strings"
)

// PlainText is all of the text.
func (p *TextPane) PlainText() string { return LinesText(p.Lines) }

func LinesText(lines []TextLine) string {
	var b strings.Builder
	for i := range lines {
		b.WriteString(lines[i].PlainText())
		b.WriteByte('\n')
	}
	return b.String()
}

// UnderCursor is what is copied of the selected line: its value, or all that
// belongs to it, and what that is called.
func (p *TextPane) UnderCursor() (text, what string) {
	at := p.Current()
	if at < 0 {
		return "", ""
	}
	l := &p.Lines[at]
	end := p.inner(at)
	switch {
	case l.Value != "" && l.Name != "":
		return l.Value, "the value of " + l.Name
	case l.Value != "":
		return l.Value, "the value"
	case end > at+1 && l.Name != "":
		return dedent(LinesText(p.Lines[at:end])), l.Name + " with all that is in it"
	case end > at+1:
		return dedent(LinesText(p.Lines[at:end])), "the line with all that is in it"
	}
	return strings.TrimSpace(l.PlainText()), "the line"
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
