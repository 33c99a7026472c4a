package render

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
)

// Finding is a finding in its machine-readable form.
type Finding struct {
	Rule       string   `json:"rule"`
	Severity   string   `json:"severity"`
	Fault      string   `json:"fault"`
	Confidence string   `json:"confidence"`
	Client     string   `json:"client,omitempty"`
	Conn       uint64   `json:"conn,omitempty"`
	Stream     uint64   `json:"stream,omitempty"`
	Type       string   `json:"type,omitempty"`
	Names      []string `json:"names,omitempty"`
	Seqs       []uint64 `json:"seqs"`
	At         string   `json:"at"`
	Count      int      `json:"count"`
	Message    string   `json:"message"`
	// LastAt and LastSeq are when it was proved last; empty if that was At.
	LastAt  string `json:"last_at,omitempty"`
	LastSeq uint64 `json:"last_seq,omitempty"`
	// Source is where it was found, if several were checked.
	Source string `json:"source,omitempty"`
}

// NewFinding makes the machine-readable form.
func NewFinding(f *check.Finding) Finding {
	out := Finding{
		Rule: f.Rule.ID, Severity: f.Severity.String(), Fault: string(f.Fault), Confidence: string(f.Rule.Confidence),
		Client: f.Client, Conn: uint64(f.Conn), Stream: uint64(f.Stream), Type: f.Type, Names: f.Names,
		At: Timestamp(f.At), Count: f.Count, Message: f.Message, Seqs: make([]uint64, len(f.Seqs)),
	}
	for i, s := range f.Seqs {
		out.Seqs[i] = uint64(s)
	}
	if f.Count > 1 {
		out.LastAt, out.LastSeq = Timestamp(f.Last), uint64(f.LastSeq)
	}
	return out
}

// Report is what check found.
type Report struct {
	Schema   string    `json:"schema"`
	Findings []Finding `json:"findings"`
	Summary  Summary   `json:"summary"`
}

// Summary counts what was looked at, and what was found.
type Summary struct {
	Entries  uint64 `json:"entries"`
	Messages uint64 `json:"messages"`
	Streams  uint64 `json:"streams"`
	Error    int    `json:"error"`
	Warning  int    `json:"warning"`
	Info     int    `json:"info"`
	Gaps     uint64 `json:"gaps"`
}

// NewReport returns a report of nothing.
func NewReport() *Report { return &Report{Schema: Schema, Findings: []Finding{}} }

// Add enters what was found in a source, which is named if there are several.
func (r *Report) Add(source string, findings []check.Finding, s check.Summary) {
	for i := range findings {
		f := NewFinding(&findings[i])
		f.Source = source
		r.Findings = append(r.Findings, f)
		switch findings[i].Severity {
		case check.Error:
			r.Summary.Error++
		case check.Warning:
			r.Summary.Warning++
		default:
			r.Summary.Info++
		}
	}
	r.Summary.Entries += s.Entries
	r.Summary.Messages += s.Messages
	r.Summary.Streams += s.Streams
	r.Summary.Gaps += s.Gaps
}

// sign and role are how a severity looks: a sign first, colour beside it.
func severityLook(word string) (string, role) {
	switch word {
	case "error":
		return "!", bad
	case "warning":
		return "~", warned
	}
	return "i", muted
}

// FindingLine is a finding between the lines of watch.
func (t *Table) FindingLine(f *check.Finding) string {
	sign, r := severityLook(f.Severity.String())
	return t.style.paint(r, sign) + strings.Repeat(" ", seqWidth+1) + t.style.paint(r, f.Rule.ID) + ": " + Safe(f.Message)
}

// Text is what a person reads: the findings, worst first in their order, and a
// line that counts them. Without info the notes are only counted.
func (r *Report) Text(s Style, info bool) string {
	var b strings.Builder
	for _, word := range []string{"error", "warning", "info"} {
		if word == "info" && !info {
			break
		}
		for i := range r.Findings {
			if f := &r.Findings[i]; f.Severity == word {
				f.text(&b, s)
			}
		}
	}
	b.WriteString(r.Conclusion(s, info))
	return b.String()
}

func (f *Finding) text(b *strings.Builder, s Style) {
	sign, look := severityLook(f.Severity)
	times := ""
	if f.Count > 1 {
		times = fmt.Sprintf("  x%d", f.Count)
	}
	about := f.Client
	if about == "" && f.Conn != 0 {
		about = fmt.Sprintf("conn %d", f.Conn)
	}
	if f.Type != "" {
		about = strings.TrimSpace(about + " " + f.Type)
	}
	fmt.Fprintf(b, "%s %s%s  %s\n", s.paint(look, sign), s.paint(look, f.Rule), times, Safe(about))
	fmt.Fprintf(b, "    %s\n", Safe(f.Message))
	where := "entry "
	if len(f.Seqs) > 1 {
		where = "entries "
	}
	seqs := f.Seqs
	const most = 6
	if len(seqs) > most {
		seqs = append(append([]uint64{}, seqs[:most-1]...), seqs[len(seqs)-1])
	}
	for i, n := range seqs {
		if i > 0 {
			where += ", "
		}
		if i == most-1 && len(f.Seqs) > most {
			where += "… "
		}
		where += fmt.Sprint(n)
	}
	if f.Count > 1 {
		where += fmt.Sprintf("; last at %d", f.LastSeq)
	}
	if f.Source != "" {
		where = Safe(f.Source) + ", " + where
	}
	fmt.Fprintf(b, "    %s\n", s.paint(muted, where+"; fault of the "+f.Fault+"; "+f.at()))
}

func (f *Finding) at() string {
	_, clock, _ := strings.Cut(f.At, "T")
	if len(clock) > 12 {
		clock = clock[:12]
	}
	return strings.TrimSuffix(clock, "Z") + " UTC"
}

// Conclusion is the line that counts.
func (r *Report) Conclusion(s Style, info bool) string {
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
	line = s.paint(look, line)
	if m.Info > 0 && !info {
		line += "; --info shows the notes"
	}
	return line + "\n"
}
