package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
)

// severityLook is how a severity looks: a sign first, colour beside it.
func severityLook(word string) (string, role) {
	switch word {
	case "error":
		return "!", bad
	case "warning":
		return "~", warned
	}
	return "i", muted
}

// FindingLine is a finding between the lines of watch. On a screen it takes as
// many lines as it needs, below the times.
func (t *Table) FindingLine(f *check.Finding) string {
	sign, look := severityLook(f.Severity.String())
	indent := strings.Repeat(" ", seqWidth+2)
	text := f.Rule.ID + ": " + Safe(f.Message)
	if from := MadeFrom(f.Sources, f.MoreSources, 2); from != "" {
		text += "; " + from
	}
	if t.screen > 0 {
		text = strings.TrimPrefix(strings.TrimRight(wrap(text, indent, t.screen), "\n"), indent)
	}
	rest := strings.TrimPrefix(text, f.Rule.ID)
	return t.style.paint(look, sign) + indent[1:] + t.style.paint(look, f.Rule.ID) + rest
}

// Text is what a person reads: the findings, worst first in their order, and a
// line that counts them. Without info the notes are only counted. Lines have so
// many columns; 0 stands for a pipe or a file, where they may be longer.
func (r *Report) Text(s Style, columns int, info bool) string {
	var b strings.Builder
	for _, word := range []string{"error", "warning", "info"} {
		if word == "info" && !info {
			break
		}
		for i := range r.Findings {
			if r.Findings[i].Severity == word {
				r.Findings[i].text(&b, s, columns)
			}
		}
	}
	b.WriteString(r.Conclusion(s, columns, info))
	return b.String()
}

// Foremost is the rule of the first finding that Text prints, or "".
func (r *Report) Foremost(info bool) string {
	for _, word := range []string{"error", "warning", "info"} {
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Severity == word && (info || word != "info") {
				return f.Rule
			}
		}
	}
	return ""
}

const findingIndent = "    "

func (f *Finding) text(w *strings.Builder, s Style, columns int) {
	sign, look := severityLook(f.Severity)
	about := f.Client
	switch {
	case len(f.Clients) > 0:
		about = ""
	case about == "" && f.Conn != 0:
		about = fmt.Sprintf("conn %d", f.Conn)
	}
	about = strings.TrimSpace(about + " " + f.Type)
	if often := f.Often(); often != "" {
		about += "  x" + often
	}
	fmt.Fprintf(w, "%s %s\n", s.paint(look, sign), strings.TrimRight(s.paint(look, f.Rule)+"  "+Safe(about), " "))
	paragraph := func(r role, text string) {
		width := columns
		if columns == 0 {
			width = len(findingIndent) + Width(text)
		}
		for line := range strings.Lines(wrap(text, findingIndent, width)) {
			line = strings.TrimSuffix(strings.TrimPrefix(line, findingIndent), "\n")
			fmt.Fprintf(w, "%s%s\n", findingIndent, s.paint(r, line))
		}
	}
	paragraph(plain, Safe(f.Message))
	if from := MadeFrom(f.Sources, f.MoreSources, FewSources); from != "" {
		paragraph(plain, from)
	}
	if len(f.Clients) > 0 {
		paragraph(plain, Safe(SomeOf(f.Clients, 8)))
	}
	if len(f.Proxies) > 1 {
		paragraph(plain, Safe(f.OnProxies(8)))
	}
	fault := "the " + f.Fault
	if f.Fault == string(check.ConfigFault) {
		fault = faultWords(check.ConfigFault)
	}
	paragraph(muted, Safe(f.Where())+"; fault of "+fault+"; "+f.when())
}

// Often says on how many clients it was found, and how many times, if that is
// more than once.
func (f *Finding) Often() string {
	if len(f.Clients) == 0 {
		if f.Count > 1 {
			return fmt.Sprint(f.Count)
		}
		return ""
	}
	text := ClientCount(len(f.Clients), f.MoreClients)
	if f.Count > len(f.Clients) {
		text += fmt.Sprintf(", %d times", f.Count)
	}
	return text
}

// OnProxies says on how many proxies it was found, and on which.
func (f *Finding) OnProxies(most int) string {
	many := Count(len(f.Proxies), "proxy", "proxies")
	if f.MoreProxies {
		many = "more than " + many
	}
	return "on " + many + ": " + SomeOf(f.Proxies, most)
}

// ClientCount says on how many clients something was found: at least so many,
// if there are more.
func ClientCount(n int, more bool) string {
	if more {
		return Number(n) + "+ clients"
	}
	return Count(n, "client", "clients")
}

// SomeOf names the first few of many, and says how many more there are.
func SomeOf(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + Number(more) + " more"
	}
	return text
}

// Where says which entries a finding is about, and before them the lines of a script
// that they come from.
func (f *Finding) Where() string {
	where := places("entry", "entries", f.Seqs)
	if f.Count > 1 && f.LastSeq != 0 && !slices.Contains(f.Seqs, f.LastSeq) {
		where += fmt.Sprintf(", last %d", f.LastSeq)
	}
	if len(f.Lines) > 0 {
		lines := places("line", "lines", f.Lines)
		if f.LastLine != 0 && !slices.Contains(f.Lines, f.LastLine) {
			lines += fmt.Sprintf(", last %d", f.LastLine)
		}
		where = lines + " (" + where + ")"
	}
	if f.Source != "" {
		where = f.Source + ", " + where
	}
	return where
}

// places writes numbers with their noun: the first few, and the last.
func places[N int | uint64](one, many string, numbers []N) string {
	const most = 6
	if len(numbers) == 1 {
		return fmt.Sprintf("%s %d", one, numbers[0])
	}
	var out []string
	for i, n := range numbers {
		switch {
		case len(numbers) <= most || i < most-1:
			out = append(out, fmt.Sprint(n))
		case i == len(numbers)-1:
			out = append(out, fmt.Sprintf("… %d", n))
		}
	}
	return many + " " + strings.Join(out, ", ")
}

// when is the time, or the time from the first to the last.
func (f *Finding) when() string {
	if f.LastAt == "" || clock(f.At) == clock(f.LastAt) {
		return clock(f.At) + " UTC"
	}
	return clock(f.At) + " to " + clock(f.LastAt) + " UTC"
}

// clock is the time of day of a timestamp, to the millisecond.
func clock(stamp string) string {
	_, text, _ := strings.Cut(stamp, "T")
	return strings.TrimSuffix(text[:min(len(text), len(timeForm))], "Z")
}

// Conclusion is the line that counts.
func (r *Report) Conclusion(s Style, columns int, info bool) string {
	m := r.Summary
	line := fmt.Sprintf("%s, %s, %s in %s on %s",
		Count(m.Error, "error", "errors"), Count(m.Warning, "warning", "warnings"), Count(m.Info, "note", "notes"),
		Count(m.Messages, "message", "messages"), Count(m.Streams, "stream", "streams"))
	if m.Recordings > 0 {
		line += " of " + Count(m.Recordings, "recording", "recordings")
	}
	if m.Gaps > 0 {
		line += ", with " + Count(m.Gaps, "gap", "gaps")
	}
	look := good
	switch {
	case m.Error > 0:
		look = bad
	case m.Warning > 0:
		look = warned
	}
	hint := ""
	if m.Info > 0 && !info {
		hint = "; --info shows the notes"
	}
	if columns > 0 && Width(line+hint) > columns {
		hint = strings.Replace(hint, "; ", "\n", 1)
	}
	line = s.paint(look, line) + hint + "\n"
	add := func(text string) {
		width := columns
		if columns == 0 {
			width = Width(text)
		}
		line += wrap(text, "", width)
	}
	if m.PastForgotten > 0 {
		add("of what was over, " + forgotten(m.PastForgotten) + ", and not judged; more --memory-past judges all")
	}
	if text := m.unkept(); text != "" {
		add(text)
	}
	return line
}

// unkept says of how many findings there is no more to be read, "" if of none.
func (m *Summary) unkept() string {
	var parts []string
	if n := m.FindingsForgotten; n > 0 {
		parts = append(parts, Count(n, "was", "were")+" forgotten for newer ones")
	}
	if n := m.FindingsRefused; n > 0 {
		parts = append(parts, Count(n, "time", "times")+" one was left out")
	}
	if parts == nil {
		return ""
	}
	return "there was no room for all findings: " + strings.Join(parts, ", and ")
}

// forgotten says how often the memory for what is over was too small.
func forgotten(n uint64) string { return "something was forgotten " + Count(n, "time", "times") }
