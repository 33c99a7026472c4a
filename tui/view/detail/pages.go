package detail

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/compare"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// makePage reads an entry and writes it in a form. It runs beside the loop.
func makePage(ctx context.Context, log *view.Log, k pageKey, findings []check.Finding) (p *page) {
	defer func() {
		// What a peer has sent must not end the program: it may be forwarding.
		if cause := recover(); cause != nil {
			p = &page{err: fmt.Errorf("cannot show %d: the program failed at it (%T); the other forms may do", k.seq, cause)}
		}
	}()
	all, err := log.Fetch.Fetch(ctx, k.seq)
	got := all[k.seq]
	if got == nil {
		if err == nil {
			err = fmt.Errorf("there is no entry %d", k.seq)
		}
		return &page{err: fmt.Errorf("cannot show %d: %w", k.seq, err)}
	}
	around := log.Fetch.Around(ctx, k.seq)
	p = &page{peer: around.Peer, kind: got.Entry.Kind, at: got.Entry.Time}
	most := mostLines
	if msg := got.Entry.Message; msg != nil && msg.Data.Len() > largeMessage {
		most = compare.FewLines
	}
	switch k.form {
	case FormSummary:
		s := newSummary(ctx, log, got, around, findings)
		p.lay, p.weight = s.lay, len(s.facts)+len(s.brings)
	case FormDiff:
		cmp := compare.CompareSelection(ctx, log, view.Selection{Seq: k.seq}, 0)
		if cmp.Err != nil {
			p.lines = []widget.TextLine{widget.Heading(widget.Plain, cmp.Err.Error())}
			break
		}
		p.lines = compare.DiffPage(cmp.Items, cmp.Typ)
	default:
		var more int
		p.lines, more = textPage(got, k.form, most, k.private)
		if more > 0 {
			p.lines = append([]widget.TextLine{moreLine(more)}, append(p.lines, moreLine(more))...)
		}
		p.lines = append(problemLines(got), p.lines...)
	}
	return p
}

// textPage is an entry as YAML, JSON or bytes.
func textPage(got *index.Fetched, f Form, most int, private bool) (lines []widget.TextLine, more int) {
	if f == FormWire {
		return wirePage(got, most, private)
	}
	text, err := FormText(got, f)
	if err != nil {
		return []widget.TextLine{widget.Heading(widget.Bad, err.Error())}, 0
	}
	if f == FormJSON {
		return widget.JsonLines(text, most)
	}
	return widget.YamlLines(text, most)
}

// FormText is an entry as YAML or JSON: of a message what was sent, of anything
// else all that is known.
func FormText(got *index.Fetched, f Form) (string, error) {
	if got.Entry.Message != nil && got.Entry.Message.Unread() == "" {
		doc := got.Decoded()
		if f == FormJSON {
			return string(render.EscapeJSON(doc.JSON())), nil
		}
		return render.SafeLines(string(doc.YAML())), nil
	}
	doc, err := got.Document()
	if err != nil {
		return "", fmt.Errorf("cannot write it: %w", err)
	}
	if f == FormJSON {
		return string(doc.JSON()), nil
	}
	return string(doc.YAML()), nil
}

// wirePage are the fields of a message and its bytes; in private only the fields,
// since in bytes no name is found and replaced.
func wirePage(got *index.Fetched, most int, private bool) (lines []widget.TextLine, more int) {
	msg := got.Entry.Message
	if msg == nil {
		return []widget.TextLine{widget.Heading(widget.Muted, "This entry is no message: there are no bytes to show.")}, 0
	}
	data := msg.Data.Bytes()
	fields, problem := got.Wire(most / 2)
	switch {
	case msg.Compressed:
		lines = append(lines, widget.Heading(widget.Warned, "compressed ("+render.Safe(msg.Encoding)+"): these are the bytes as they were sent"), widget.TextLine{})
	case len(fields) > 0:
		lines = append(lines, widget.Heading(widget.Muted, "offset     size  field, wire type, what it holds"))
	}
	if problem != "" {
		lines = append(lines, widget.Heading(widget.Warned, problem), widget.TextLine{})
	}
	if private {
		data = nil
	}
	rest, more := wireLines(fields, data, most)
	lines = append(lines, rest...)
	if private {
		lines = append(lines, widget.Heading(widget.Warned, "Bytes are not shown while names are hidden. P shows both."))
	}
	return lines, more
}

// problemLines say what could not be read, before all the rest.
func problemLines(got *index.Fetched) (out []widget.TextLine) {
	for _, p := range problemsOf(got) {
		out = append(out, widget.Heading(widget.Warned, "~ "+p))
	}
	if len(out) > 0 {
		out = append(out, widget.TextLine{})
	}
	return out
}

// problemsOf are what could not be read of an entry.
func problemsOf(got *index.Fetched) []string {
	out := slices.Clone(got.Entry.Problems)
	add := func(more []string) {
		for _, p := range more {
			said := func(q string) bool { return strings.HasSuffix(q, p) || strings.HasSuffix(p, q) }
			if !slices.ContainsFunc(out, said) {
				out = append(out, p)
			}
		}
	}
	if got.Change.Message != nil {
		add(got.Change.Message.Problems)
	}
	if msg := got.Entry.Message; msg != nil {
		if msg.Truncated && msg.Data.Len() < msg.Size {
			out = append(out, fmt.Sprintf("only the first %s of %s were recorded", render.Size(msg.Data.Len()), render.Size(msg.Size)))
		}
		doc := got.Decoded()
		if add(doc.Problems); len(doc.Missing) > 0 {
			out = append(out, "start with --descriptors FILE to have the names of its fields")
		}
	}
	return out
}

// surroundings say to render what is around an entry.
func surroundings(log *view.Log, got *index.Fetched, a index.Around) render.Surroundings {
	s := render.Surroundings{None: a.None}
	if p := a.Partner; p != nil {
		n := &render.Neighbour{Seq: p.Entry.Seq}
		if p.Change.Message != nil {
			n.Version = p.Change.Message.Version
			if e := p.Change.Message.Error; e != nil {
				n.Reason = e.Message
			}
		}
		n.Rejected = p.Change.What == engine.NACK
		if r, ok := log.Index.BySeq(got.Entry.Seq); ok {
			n.After = r.Waited()
		}
		if p.Entry.Side == session.Server {
			s.Answered = n
		} else {
			s.Answer = n
		}
	}
	if a.Held != nil {
		s.Held = &render.Neighbour{Seq: a.Held.Seq, Version: log.Index.Words(a.Held).Version}
	}
	return s
}

// isResponse says whether an entry brings resources.
func isResponse(got *index.Fetched) bool {
	msg := got.Change.Message
	return msg != nil && (msg.Kind == decode.SotwResponse || msg.Kind == decode.DeltaResponse)
}
