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
	if t.screen > 0 {
		text = strings.TrimPrefix(strings.TrimRight(wrap(text, indent, t.screen), "\n"), indent)
	}
	rest := strings.TrimPrefix(text, f.Rule.ID)
	return t.style.paint(look, sign) + indent[1:] + t.style.paint(look, f.Rule.ID) + rest
}

// block is what one rule says in the same words, of one client or of several.
type block struct {
	first *Finding
	of    []*Finding
}

// blocks puts together what the findings of a severity have in common, in the
// order in which it was first proved.
func blocks(all []Finding, severity string) []*block {
	type key struct{ rule, typ, fault, message string }
	have := make(map[key]*block)
	var out []*block
	for i := range all {
		f := &all[i]
		if f.Severity != severity {
			continue
		}
		k := key{f.Rule, f.Type, f.Fault, f.Message}
		b := have[k]
		if b == nil {
			b = &block{first: f}
			have[k], out = b, append(out, b)
		}
		b.of = append(b.of, f)
	}
	return out
}

// Text is what a person reads: the findings, worst first in their order, and a
// line that counts them. Without info the notes are only counted. What several
// clients have in common is said once. Lines have so many columns; 0 stands
// for a pipe or a file, where they may be longer.
func (r *Report) Text(s Style, columns int, info bool) string {
	var b strings.Builder
	for _, word := range []string{"error", "warning", "info"} {
		if word == "info" && !info {
			break
		}
		for _, one := range blocks(r.Findings, word) {
			one.text(&b, s, columns)
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

func (b *block) text(w *strings.Builder, s Style, columns int) {
	f := b.first
	sign, look := severityLook(f.Severity)
	clients, count := b.clients(), 0
	for _, one := range b.of {
		count += one.Count
	}
	about := ""
	if len(clients) > 0 {
		about = clients[0]
	}
	if len(clients) > 1 {
		about = fmt.Sprintf("%d clients", len(clients))
	}
	about = strings.TrimSpace(about + " " + f.Type)
	if count > 1 {
		about += fmt.Sprintf("  x%d", count)
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
	if len(clients) > 1 {
		const most = 8
		text := strings.Join(clients[:min(len(clients), most)], ", ")
		if more := len(clients) - most; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		paragraph(plain, Safe(text))
	}
	where := f.where()
	if more := len(b.of) - 1; more > 0 {
		where += ", and so on" // -o json has them all
	}
	fault := "the " + f.Fault
	if f.Fault == string(check.ConfigFault) {
		fault = faultWords(check.ConfigFault)
	}
	paragraph(muted, Safe(where)+"; fault of "+fault+"; "+b.when())
}

// clients are whom it is about, each once.
func (b *block) clients() []string {
	var out []string
	seen := make(map[string]bool)
	for _, f := range b.of {
		about := f.Client
		if about == "" && f.Conn != 0 {
			about = fmt.Sprintf("conn %d", f.Conn)
		}
		if f.Source != "" && len(b.of) > 1 && f.Client == "" {
			about = strings.TrimSpace(f.Source + " " + about) // connections are numbered anew
		}
		if about != "" && !seen[about] {
			seen[about], out = true, append(out, about)
		}
	}
	return out
}

// where are the entries of a finding, and before them the lines of a script
// that they come from.
func (f *Finding) where() string {
	where := places("entry", "entries", f.Seqs)
	if f.Count > 1 && !slices.Contains(f.Seqs, f.LastSeq) {
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
func (b *block) when() string {
	from, to := b.first.At, b.first.At
	for _, f := range b.of {
		from, to = min(from, f.At), max(to, f.At, f.LastAt)
	}
	if clock(from) == clock(to) {
		return clock(from) + " UTC"
	}
	return clock(from) + " to " + clock(to) + " UTC"
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
	if m.PastForgotten > 0 {
		text := "of what was over, " + forgotten(m.PastForgotten) + ", and not judged; more --memory-past judges all"
		if columns == 0 {
			columns = Width(text)
		}
		line += wrap(text, "", columns)
	}
	return line
}

// forgotten says how often the memory for what is over was too small.
func forgotten(n uint64) string { return "something was forgotten " + Count(n, "time", "times") }
