// Package menu has the views in which one chooses: a form to copy in, a form and a
// part to export.
package menu

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/render/foreign"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/detail"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// copyForm is one of the forms in which an entry can be copied.
type copyForm struct {
	name, help string
	text       func(ctx context.Context, log *view.Log, got *index.Fetched) (string, error)
}

// copyMenu lets one choose the form, below the view that it was opened from.
type copyMenu struct {
	view.Plain
	seq   session.Seq
	under view.View
	forms []copyForm
	at    int
	top   int // row where the list begins
}

// NewCopy asks in which form an entry of a source is to be copied. row is its line in
// the timeline, under the view that is on the screen.
func NewCopy(source string, r *index.Row, row string, under view.View) view.View {
	seq := r.Seq
	link := fmt.Sprintf("xdsproxy show %s %d", view.ShellWord(source), seq)
	same := func(s string) func(context.Context, *view.Log, *index.Fetched) (string, error) {
		return func(context.Context, *view.Log, *index.Fetched) (string, error) { return s, nil }
	}
	forms := []copyForm{
		{"row", "the line of the timeline, for grep", same(row)},
		{"yaml", "all of it as YAML", copyFormText(detail.FormYAML)},
		{"json", "all of it as JSON", copyFormText(detail.FormJSON)},
		{"names", "the names in it, one a line", copyNames},
		{"link", link, same(link)},
	}
	if r.Kind == session.KindMessage && r.Side == session.Client {
		forms = append(forms, copyForm{"grpcurl", "a command that sends this request", copyGrpcurl})
	}
	return &copyMenu{seq: seq, under: under, forms: forms}
}

func copyFormText(f detail.Form) func(context.Context, *view.Log, *index.Fetched) (string, error) {
	return func(_ context.Context, _ *view.Log, got *index.Fetched) (string, error) {
		return detail.FormText(got, f)
	}
}

func copyNames(_ context.Context, _ *view.Log, got *index.Fetched) (string, error) {
	c := &got.Change
	names := append([]string(nil), c.Names()...)
	if c.Message != nil {
		names = append(append(append(names, c.Message.Subscribe...), c.Message.Unsubscribe...), c.Message.Removed...)
	}
	if len(names) == 0 {
		return "", fmt.Errorf("there are no names in %d", got.Entry.Seq)
	}
	var b strings.Builder
	for _, n := range names {
		b.WriteString(render.Safe(n) + "\n")
	}
	return b.String(), nil
}

// copyGrpcurl is the request as a command, with the node of the stream's first
// one.
func copyGrpcurl(ctx context.Context, log *view.Log, got *index.Fetched) (string, error) {
	var first *index.Fetched
	if seq := log.Index.FirstRequest(got.Entry.Seq); seq != 0 && seq != got.Entry.Seq {
		all, _ := log.Fetch.Fetch(ctx, seq)
		first = all[seq]
	}
	address := ""
	if p := log.Fetch.Around(ctx, got.Entry.Seq).Peer; p != nil {
		address = p.Upstream
	}
	q := foreign.Request{Method: got.Change.Method, Address: address, Body: got.Decoded()}
	if first != nil {
		q.First = first.Decoded()
	}
	return q.Grpcurl()
}

func (v *copyMenu) Title() string { return "Copy as" }

func (v *copyMenu) Keys() []key.Offer {
	return []key.Offer{
		{Act: key.Open, Hint: "copy", Help: "copy in the selected form"},
		{Act: key.Up},
		{Act: key.Down},
		{Act: key.First},
		{Act: key.Last},
		{Act: key.Copy, Help: "copy in the selected form"},
		{Act: key.Close, Hint: "cancel", Help: "copy nothing"},
	}
}

func (v *copyMenu) Do(scr view.Screen, a key.Action) tea.Cmd {
	switch a {
	case key.Up:
		v.at = max(v.at-1, 0)
	case key.Down:
		v.at = min(v.at+1, len(v.forms)-1)
	case key.First:
		v.at = 0
	case key.Last:
		v.at = len(v.forms) - 1
	case key.Close:
		scr.Pop(v)
	case key.Open, key.Copy:
		f, seq, log := v.forms[v.at], v.seq, scr.Log()
		return view.Answer(v, func() any {
			all, err := log.Fetch.Fetch(log.Context, seq)
			got := all[seq]
			if got == nil {
				return copyReady{err: fmt.Errorf("cannot copy %d: %w", seq, err)}
			}
			text, err := f.text(log.Context, log, got)
			return copyReady{f.name, text, err}
		})
	}
	return nil
}

// copyReady is a text that is to be copied.
type copyReady struct {
	form, text string
	err        error
}

func (v *copyMenu) Handle(scr view.Screen, msg any) tea.Cmd {
	ready, is := msg.(copyReady)
	if !is {
		return nil
	}
	if ready.err != nil {
		scr.Complain(ready.err)
		return nil
	}
	what := fmt.Sprintf("%d as %s", v.seq, ready.form)
	cmd := scr.Copy(scr.Aliases().Text(ready.text), what)
	if cmd != nil || ready.text == "" { // else it asks again
		scr.Pop(v)
	}
	return cmd
}

func (v *copyMenu) Draw(scr view.Screen, w, h int) []widget.Line {
	list := []widget.Line{widget.Text(widget.Muted, widget.Repeat(scr.Theme().Glyph.Line, w)), widget.Text(widget.Title, fmt.Sprintf(" Copy %d as", v.seq))}
	for i, f := range v.forms {
		l := widget.Spans(widget.In(widget.Plain, "   "), widget.In(widget.Plain, widget.Left(f.name, 9)), widget.In(widget.Muted, f.help))
		if i == v.at {
			l.Spans[0].Text, l.Selected = " > ", true
		}
		list = append(list, l)
	}
	v.top = max(h-len(list), 0) + 2
	var out []widget.Line
	if room := h - len(list); room > 0 {
		out = v.under.Draw(scr, w, room)
		for len(out) < room {
			out = append(out, widget.Blank())
		}
		return append(out[:room], list...)
	}
	v.top = 2 + h - len(list)
	return list[len(list)-h:]
}

func (v *copyMenu) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	if i := y - v.top; i >= 0 && i < len(v.forms) {
		v.at = i
		if twice {
			return v.Do(scr, key.Open)
		}
	}
	return nil
}
