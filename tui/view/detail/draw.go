package detail

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

func (v *View) Draw(scr view.Screen, w, h int) []widget.Line {
	out := v.head(scr, w)
	if h <= len(out) {
		return out[:h]
	}
	if v.laid != 0 && (v.laid != w-widget.TextGutter || v.stamp != scr.Aliases().Stamp()) {
		v.laid, v.stamp = w-widget.TextGutter, scr.Aliases().Stamp()
		on := ""
		if at := v.Pane.Current(); at >= 0 && v.Pane.Lines[at].Name == "resource" {
			on = v.Pane.Lines[at].Value
		}
		v.Pane.Set(v.page.lay(v.laid, scr.Aliases().Text))
		v.find(on)
	}
	switch {
	case v.ready() && v.page.err != nil:
		return append(out, widget.Blank(), widget.Text(widget.Bad, "  "+v.page.err.Error()))
	case !v.ready():
		v.Pane.Width = w - widget.TextGutter
		return append(out, widget.Blank(), widget.Text(widget.Muted, "  reading"))
	}
	return append(out, v.Pane.Draw(scr.Theme(), scr.Aliases().Text, w, h-len(out))...)
}

// head says which entry it is, and in which form it is shown.
func (v *View) head(scr view.Screen, w int) []widget.Line {
	chosen := widget.Line{}
	for f := range Forms {
		if f == v.Form {
			chosen.Add(widget.Title, " ["+f.String()+"]")
		} else {
			chosen.Add(widget.Muted, "  "+f.String()+" ")
		}
	}
	first := widget.Spans(widget.In(widget.Title, " "+view.SeqText(v.Seq)))
	rest := v.facts(scr)
	wide := first.Width() + 2 + chosen.Width() + 3
	if long := wide + rest.Width(); long <= w {
		first.Add(widget.Plain, "  ")
		first.Join(chosen)
		first.Pad(w - rest.Width() - 1)
		first.Join(rest)
		return []widget.Line{first}
	}
	first.Add(widget.Plain, "  ")
	first.Join(rest)
	return []widget.Line{first, chosen}
}

// facts are what the head says of the entry.
func (v *View) facts(scr view.Screen) widget.Line {
	var l widget.Line
	r, ok := scr.Log().Index.BySeq(v.Seq)
	if !ok {
		if v.ready() && v.page.err == nil {
			return widget.Text(widget.Plain, v.page.kind.String()+"  "+render.LongTime(v.page.at))
		}
		return l
	}
	words := scr.Log().Index.Words(&r)
	look, sign := view.LookOf(&r)
	kind := render.EventWord(r.Kind, words.Method.Variant)
	if r.Kind == session.KindMessage {
		kind = strings.TrimSpace(render.OrDash(words.Type) + " " + r.What.String())
		if r.What == index.Nothing {
			kind = "message"
		}
	}
	if sign != " " {
		l.Add(look, sign+" ")
	}
	l.Add(look, kind)
	if scr.Log().Index.Marked(r.Seq) {
		l.Add(widget.Accent, " *marked")
	}
	if words.Stream != 0 {
		l.Add(widget.Muted, "  "+view.StreamName(&words))
	}
	from, to := scr.Aliases().Name(render.OrDash(words.Client)), "server"
	if v.ready() && v.page.peer != nil && v.page.peer.Upstream != "" {
		to = scr.Aliases().Name(v.page.peer.Upstream)
	}
	if r.Side == session.Server {
		from, to = to, from
	}
	switch {
	case r.Kind == session.KindHeld: // it was sent to no server
		l.Add(widget.Plain, "  "+render.Middle(render.Safe(from), 28))
	case words.Client != "":
		l.Add(widget.Plain, "  "+render.Middle(render.Safe(from), 28)+" > "+render.Middle(render.Safe(to), 28))
	}
	l.Add(widget.Muted, "  "+render.LongTime(r.At()))
	if r.Kind == session.KindMessage {
		l.Add(widget.Plain, "  "+render.Number(int64(r.Size))+" B")
	}
	if r.Flags&index.Masked != 0 {
		l.Add(widget.Warned, " [masked]")
	}
	if r.Flags&index.Truncated != 0 {
		l.Add(widget.Bad, " [truncated]")
	}
	return l
}
