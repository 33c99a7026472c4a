// Package ladder is the view of a conversation as arrows.
package ladder

import (
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// View is the conversation of a stream, or of a client, drawn as arrows. Of a
// long one only the part around the selection is there.
type View struct {
	view.Text
	client  string      // "": the stream of of
	of      session.Seq // an entry of the stream
	at      session.Seq // that is selected
	drawn   *render.Ladder
	looks   map[session.Seq]widget.Role
	width   int // that the pane was laid out for
	aliases int // stamp of those that it was laid out with

	earlier, later bool // there is more before and behind
	busy           bool
}

// Entries that are drawn before the selection and behind it.
const (
	stepsBefore = 300
	stepsAfter  = 300
	stepsAtOnce = 64 // that are read at once

	lastSeq = session.Seq(^uint64(0) >> 1)
)

type ladderReady struct {
	drawn          *render.Ladder
	looks          map[session.Seq]widget.Role
	earlier, later bool
	err            error
}

// Open draws the conversation that the selection is part of.
func Open(scr view.Screen, s view.Selection) tea.Cmd {
	v := &View{of: s.Seq, at: s.Seq}
	if s.Seq == 0 {
		if s.Client == "" {
			scr.Say("nothing is selected whose conversation could be drawn")
			return nil
		}
		v.client, v.at = s.Client, lastSeq
	}
	scr.Push(v)
	return v.load(scr)
}

// load reads the part around the selection.
func (v *View) load(scr view.Screen) tea.Cmd {
	if v.busy {
		return nil
	}
	v.busy = true
	of, at, client := v.of, v.at, v.client
	findings, log := scr.Seen().Findings, scr.Log()
	return view.Answer(v, func() any { return drawLadder(log, of, client, at, findings) })
}

func drawLadder(log *view.Log, of session.Seq, client string, at session.Seq, findings []check.Finding) ladderReady {
	rows, earlier, later := log.Index.Conversation(of, client, at, stepsBefore, stepsAfter)
	out := ladderReady{drawn: render.NewLadder(), looks: make(map[session.Seq]widget.Role), earlier: earlier, later: later}
	if len(rows) == 0 {
		out.err = errors.New("there is no conversation here")
		return out
	}
	if seq := log.Index.Connection(rows[0].Seq); seq != 0 {
		if all, _ := log.Fetch.Fetch(log.Context, seq); all[seq] != nil {
			out.drawn.See(&all[seq].Entry, &all[seq].Change)
		}
	}
	proofs := make(map[session.Seq][]check.Finding)
	for i := range findings {
		f := &findings[i]
		at := f.LastSeq
		if n := len(f.Seqs); n > 0 {
			at = f.Seqs[n-1] // where it was proved first
		}
		proofs[at] = append(proofs[at], *f)
	}
	for len(rows) > 0 {
		some := rows[:min(len(rows), stepsAtOnce)]
		rows = rows[len(some):]
		var seqs []session.Seq
		for i := range some {
			seqs = append(seqs, some[i].Seq)
		}
		all, _ := log.Fetch.Fetch(log.Context, seqs...)
		if log.Context.Err() != nil {
			return out
		}
		for i := range some {
			if got := all[some[i].Seq]; got != nil {
				out.add(got, &some[i], proofs[some[i].Seq])
			}
		}
	}
	return out
}

func (r *ladderReady) add(got *index.Fetched, row *index.Row, findings []check.Finding) {
	c := got.Change
	c.Findings = findings
	r.drawn.See(&got.Entry, &c)
	r.drawn.Add(&got.Entry, &c)
	r.looks[row.Seq], _ = view.LookOf(row)
}

func (v *View) Handle(scr view.Screen, msg any) tea.Cmd {
	switch msg := msg.(type) {
	case ladderReady:
		v.busy = false
		if msg.err != nil {
			scr.Pop(v)
			scr.Complain(msg.err)
			return nil
		}
		v.drawn, v.looks, v.earlier, v.later = msg.drawn, msg.looks, msg.earlier, msg.later
		v.layOut(scr, scr.Columns()-widget.TextGutter)
	default:
		return v.HandlePager(scr, v, msg)
	}
	return nil
}

// layOut draws the ladder for so many columns, with the selection where it is.
func (v *View) layOut(scr view.Screen, columns int) {
	v.width = columns
	var lines []widget.TextLine
	if v.earlier {
		lines = append(lines, widget.Heading(widget.Muted, "  ... more before: up goes on"))
	}
	at := 0
	v.aliases = scr.Aliases().Stamp()
	for _, l := range v.drawn.Lines(render.LadderForm{Columns: columns, ASCII: scr.Theme().ASCII, Replace: scr.Aliases().Text}) {
		if l.Seq != 0 && l.Seq <= v.at {
			if len(lines) == 0 || lines[at].Ref != uint64(l.Seq) {
				at = len(lines)
			}
		}
		t := widget.TextLine{Line: widget.Text(v.look(&l), l.Text), Ref: uint64(l.Seq), Level: 1}
		if l.Kind == render.LadderFinding {
			t.Level = 2
		}
		lines = append(lines, t)
	}
	if v.later {
		lines = append(lines, widget.Heading(widget.Muted, "  ... more behind: down goes on"))
	}
	v.Pane.Set(lines)
	v.Pane.Show(at)
}

func (v *View) look(l *render.LadderLine) widget.Role {
	switch l.Kind {
	case render.LadderHead:
		return widget.Title
	case render.LadderFinding:
		sign := strings.TrimLeft(l.Text, " ")
		switch {
		case strings.HasPrefix(sign, "!"):
			return widget.Bad
		case strings.HasPrefix(sign, "~"):
			return widget.Warned
		}
		return widget.Plain
	case render.LadderAcross:
		return widget.Warned
	}
	return v.looks[l.Seq]
}

func (v *View) Selected(scr view.Screen) view.Selection {
	seq := v.current()
	s := view.Selection{Seq: seq, Client: v.client}
	if r, ok := scr.Log().Index.BySeq(seq); ok {
		w := scr.Log().Index.Words(&r)
		s.Client, s.Type = w.Client, w.Type
	}
	return s
}

func (v *View) Draw(scr view.Screen, w, h int) []widget.Line {
	if v.drawn == nil {
		return []widget.Line{widget.Blank(), widget.Text(widget.Muted, "  reading")}
	}
	if v.width != w-widget.TextGutter || v.aliases != scr.Aliases().Stamp() {
		v.layOut(scr, w-widget.TextGutter)
	}
	v.Pane.Fit(h)
	head := v.headLine()
	if head < 0 || h < 4 {
		return v.Pane.Draw(scr.Theme(), scr.Aliases().Text, w, h)
	}
	// Who takes part stays on the screen.
	out := v.Pane.Draw(scr.Theme(), scr.Aliases().Text, w, h-1)
	names := v.Pane.Lines[head].Line
	return append([]widget.Line{widget.Spans(append([]widget.Span{{Role: widget.Plain, Text: widget.Spaces(widget.TextGutter)}}, widget.PartOf(names.Spans, v.Pane.Left, w-widget.TextGutter)...)...)}, out...)
}

// headLine is the line that names who takes part, if it is not visible; -1 else.
func (v *View) headLine() int {
	for i := range min(len(v.Pane.Lines), 2) {
		if v.Pane.Lines[i].Ref == 0 && len(v.Pane.Lines[i].Spans) > 0 && v.Pane.Lines[i].Spans[0].Role == widget.Title && v.Pane.Win.Top > i {
			return i
		}
	}
	return -1
}

func (v *View) Where(view.Screen) string {
	if v.drawn == nil {
		return ""
	}
	s := render.Count(v.drawn.Len(), "step", "steps")
	if v.earlier || v.later {
		s += " of more"
	}
	return s
}

func (v *View) About(scr view.Screen) widget.Line {
	seq := v.current()
	if seq == 0 {
		return widget.Line{}
	}
	if f := scr.Seen().Finding(seq); f != nil {
		return widget.Spans(widget.In(view.SeverityRole(f.Severity), f.Rule.ID+" "), widget.In(widget.Plain, scr.Aliases().Text(f.Message)))
	}
	return widget.Text(widget.Muted, fmt.Sprintf("enter opens %d", seq))
}

func (v *View) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	v.Pane.Click(y)
	if seq := v.current(); seq != 0 {
		v.at = seq
	}
	if twice && v.drawn != nil {
		return v.Do(scr, key.Open)
	}
	return nil
}
