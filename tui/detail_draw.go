package tui

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

func (v *detail) draw(m *Model, w, h int) []line {
	out := v.head(m, w)
	if h <= len(out) {
		return out[:h]
	}
	if v.laid != 0 && (v.laid != w-textGutter || v.private != m.private()) {
		v.laid, v.private = w-textGutter, m.private()
		v.pane.set(v.page.lay(v.laid, m.aliasText))
	}
	switch {
	case v.ready() && v.page.err != nil:
		return append(out, blank(), text(bad, "  "+v.page.err.Error()))
	case !v.ready():
		v.pane.width = w - textGutter
		return append(out, blank(), text(muted, "  reading"))
	}
	return append(out, v.pane.draw(m, w, h-len(out))...)
}

// head says which entry it is, and in which form it is shown.
func (v *detail) head(m *Model, w int) []line {
	chosen := line{}
	for f := range forms {
		if f == v.form {
			chosen.add(title, " ["+f.String()+"]")
		} else {
			chosen.add(muted, "  "+f.String()+" ")
		}
	}
	first := spans(span{title, " " + seqText(v.seq)})
	rest := v.facts(m)
	wide := first.width() + 2 + chosen.width() + 3
	if long := wide + rest.width(); long <= w {
		first.add(plain, "  ")
		first.join(chosen)
		first.pad(w - rest.width() - 1)
		first.join(rest)
		return []line{first}
	}
	first.add(plain, "  ")
	first.join(rest)
	return []line{first, chosen}
}

// facts are what the head says of the entry.
func (v *detail) facts(m *Model) line {
	var l line
	r, ok := m.index.BySeq(v.seq)
	if !ok {
		if v.ready() && v.page.err == nil {
			return text(plain, v.page.kind.String()+"  "+v.page.at.UTC().Format("15:04:05.000000"))
		}
		return l
	}
	words := m.index.Words(&r)
	look, sign := lookOf(&r)
	kind := eventWord(&r)
	if r.Kind == session.KindMessage {
		kind = strings.TrimSpace(orDash(words.Type) + " " + r.What.String())
		if r.What == index.Nothing {
			kind = "message"
		}
	}
	if sign != " " {
		l.add(look, sign+" ")
	}
	l.add(look, kind)
	if m.isMarked(r.Seq) {
		l.add(accent, " *marked")
	}
	if words.Stream != 0 {
		l.add(muted, "  "+streamName(&words))
	}
	from, to := m.alias(orDash(words.Client)), "server"
	if v.ready() && v.page.peer != nil && v.page.peer.Upstream != "" {
		to = m.alias(v.page.peer.Upstream)
	}
	if r.Side == session.Server {
		from, to = to, from
	}
	if words.Client != "" {
		l.add(plain, "  "+render.Middle(render.Safe(from), 28)+" > "+render.Middle(render.Safe(to), 28))
	}
	l.add(muted, "  "+r.At().UTC().Format("15:04:05.000000"))
	if r.Kind == session.KindMessage {
		l.add(plain, "  "+render.Number(int64(r.Size))+" B")
	}
	if r.Flags&index.Masked != 0 {
		l.add(warned, " [masked]")
	}
	if r.Flags&index.Truncated != 0 {
		l.add(bad, " [truncated]")
	}
	return l
}
