package detail

import (
	"context"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/compare"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// summary is what an entry says and what that means, before it is laid out.
type summary struct {
	problems []string
	facts    []render.Fact
	findings [][]render.Fact
	brings   []arrival // by a response, or by the one that a NACK rejects
	named    string    // what brings them, "" if nothing can
	since    string    // what they are compared with
	lost     error     // why brings is not there
}

// arrival is a resource of a response.
type arrival struct {
	name, version string // version where it has one of its own
	words         string // what is different in it
	look          widget.Role
	seq           session.Seq // of what it is compared with
}

func newSummary(ctx context.Context, log *view.Log, got *index.Fetched, around index.Around, findings []check.Finding) *summary {
	s := &summary{
		problems: problemsOf(got),
		facts:    render.Explain(&got.Entry, &got.Change, surroundings(log, got, around)),
	}
	for i := range findings {
		s.findings = append(s.findings, render.ExplainFinding(&findings[i]))
	}
	switch p := around.Partner; {
	case isResponse(got):
		s.bring(ctx, log, got, "this response")
	case p != nil && got.Change.What == engine.NACK && isResponse(p):
		s.bring(ctx, log, p, "the rejected response")
	}
	return s
}

// bring lists what a response brings, beside what the client had.
func (s *summary) bring(ctx context.Context, log *view.Log, of *index.Fetched, named string) {
	a, err := log.Fetch.Against(ctx, of.Entry.Seq, false)
	if err != nil {
		s.lost = err
		return
	}
	s.named, s.since = named, "change since the accepted version"
	for i := range a.Resources {
		c := &a.Resources[i]
		if c.Old.Seq != 0 && c.Old.Verdict != index.ACK {
			s.since = "change since the version before"
		}
		b := arrival{name: c.Name, seq: c.Old.Seq}
		b.look, b.words = compare.ChangeOf(c)
		if c.Kind != diff.Removed && c.New.Version != of.Change.Message.Version {
			b.version = c.New.Version
		}
		s.brings = append(s.brings, b)
	}
}

// maxSummaryLines bounds a summary: the other forms have all of it.
const maxSummaryLines = 5000

// lay lays it out for so many columns. alias is how what peers chose is written.
func (s *summary) lay(columns int, alias func(string) string) []widget.TextLine {
	var out []widget.TextLine
	for _, p := range s.problems {
		for i, l := range widget.BreakWords(render.Safe(alias(p)), columns-2) {
			sign := "  "
			if i == 0 {
				sign = "~ "
			}
			out = append(out, widget.Heading(widget.Warned, sign+l))
		}
	}
	if len(out) > 0 {
		out = append(out, widget.TextLine{})
	}
	out = layFacts(out, s.facts, columns, alias)
	for _, f := range s.findings {
		out = append(out, widget.TextLine{})
		out = layFacts(out, f, columns, alias)
	}
	if s.named != "" {
		out = append(out, widget.TextLine{})
		out = s.layResources(out, columns, alias)
	} else if s.lost != nil {
		out = append(out, widget.TextLine{}, widget.Heading(widget.Bad, s.lost.Error()))
	}
	if len(out) > maxSummaryLines {
		out = append(out[:maxSummaryLines:maxSummaryLines], widget.Heading(widget.Muted, "... and more; v goes on to YAML, which has all of it"))
	}
	return out
}

func factRole(l render.FactLook) widget.Role {
	switch l {
	case render.FactGood:
		return widget.Good
	case render.FactBad:
		return widget.Bad
	case render.FactMuted:
		return widget.Muted
	}
	return widget.Plain
}

const (
	mostLabel = 18 // columns of the names of fields
	meansAt   = 14 // where what a value means begins, behind its column
)

// layFacts appends facts as names, values and what these mean.
func layFacts(out []widget.TextLine, facts []render.Fact, columns int, alias func(string) string) []widget.TextLine {
	label := 8
	for i := range facts {
		if n := len(facts[i].Name) + 2; n <= min(mostLabel, columns/3) {
			label = max(label, n)
		}
	}
	name := ""
	for i := range facts {
		if len(out) > maxSummaryLines {
			break
		}
		f := &facts[i]
		if text, means := alias(f.Text), alias(f.Means); text != f.Text || means != f.Means {
			f = &render.Fact{Name: f.Name, Text: text, Means: means, Look: f.Look, Seq: f.Seq}
		}
		if f.Name != "" {
			name = strings.TrimSpace(f.Name)
		}
		from := len(out)
		out = layFact(out, f, name, label, columns)
		if f.Name != "" && f.Seq == 0 && i+1 < len(facts) && facts[i+1].Name == "" {
			for j := from; j < len(out); j++ {
				out[j].Value = "" // the value is what is below it
			}
		}
	}
	return out
}

func layFact(out []widget.TextLine, f *render.Fact, name string, label, columns int) []widget.TextLine {
	look := factRole(f.Look)
	level := 0
	if f.Name == "" {
		level = 1
	}
	add := func(first bool, parts ...widget.Span) {
		t := widget.TextLine{Level: level, Name: name, Value: f.Text, Ref: uint64(f.Seq)}
		lead := ""
		if first {
			lead = f.Name
		} else {
			t.Level++
		}
		t.Add(widget.Muted, widget.Left(lead, label))
		t.Spans = append(t.Spans, parts...)
		out = append(out, t)
	}
	if len(f.Name) > label-1 {
		out = append(out, widget.TextLine{Line: widget.Text(widget.Muted, f.Name), Level: level, Name: name, Value: f.Text, Ref: uint64(f.Seq)})
		level++
		f = &render.Fact{Text: f.Text, Means: f.Means, Look: f.Look, Seq: f.Seq}
	}
	clean, means := render.Safe(f.Text), render.Safe(f.Means)
	room, w := max(columns-label, 10), render.Width(clean)
	if clean == "" && means != "" {
		clean, w = "-", 1
	}
	meaning := look
	if f.Look == render.FactPlain && f.Text != "" {
		meaning = widget.Muted
	}
	at := max(meansAt, w+2)
	if means != "" && (at+render.Width(means) <= room || w <= room/3 && room-at >= 20) {
		for i, l := range widget.BreakWords(means, room-at) {
			shown := clean
			if i > 0 {
				shown = ""
			}
			add(i == 0, widget.In(look, widget.Left(shown, at)), widget.In(meaning, l))
		}
		return out
	}
	for i, l := range widget.BreakWords(clean, room) {
		add(i == 0, widget.In(look, l))
	}
	for _, l := range widget.BreakWords(means, room) {
		if means != "" {
			add(false, widget.In(meaning, l))
		}
	}
	return out
}

// layResources lists what a response brings, and what is different in it.
func (s *summary) layResources(out []widget.TextLine, columns int, alias func(string) string) []widget.TextLine {
	if len(s.brings) == 0 {
		return append(out, widget.Heading(widget.Title, "no resources named in "+s.named))
	}
	longest := 0
	for i := range s.brings {
		longest = max(longest, render.Width(render.Safe(alias(s.brings[i].name))))
	}
	head := render.Count(len(s.brings), "resource", "resources") + " named in " + s.named
	names := min(max(longest+2, render.Width(head), columns/3), columns/2)
	t := widget.TextLine{}
	t.Add(widget.Title, widget.Left(head, names+2))
	t.Add(widget.Muted, s.since)
	out = append(out, t)
	for i := range s.brings {
		if len(out) > maxSummaryLines {
			break
		}
		out = append(out, s.brings[i].line(names, alias))
	}
	return out
}

func (b *arrival) line(names int, alias func(string) string) widget.TextLine {
	t := widget.TextLine{Level: 1, Name: "resource", Value: b.name, Ref: uint64(b.seq)}
	t.Add(widget.Plain, "  "+widget.Middle(render.OrDash(alias(b.name)), names-2)+"  ")
	if b.version != "" {
		t.Add(widget.Muted, render.Middle(render.Safe(alias(b.version)), 12)+": ")
	}
	t.Add(b.look, alias(b.words))
	return t
}
