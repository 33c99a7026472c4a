package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

const (
	leastWidth, leastHeight = 40, 10 // nothing fits below
	plainWidth, plainHeight = 60, 15 // below, the body has nearly all of it
)

// View is called by the program after every message.
func (m *Model) View() tea.View {
	if m.stale || m.frame == "" || m.prompt != nil || m.dialog != nil {
		m.frame = m.Frame()
		m.stale, m.drawnAt, m.drawn = false, m.now(), m.log.Index.Generation()
	}
	v := tea.NewView(m.frame)
	v.AltScreen = true
	v.WindowTitle = "xdsproxy " + render.Safe(view.SourceName(m))
	if !m.opts.NoMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.palette != nil && m.dialog == nil {
		v.Cursor = tea.NewCursor(m.palette.Column(m.w), m.h-2)
	}
	if m.prompt != nil {
		v.Cursor = tea.NewCursor(m.prompt.Column(m.w, m.aliases.Text), m.h-2)
	}
	return v
}

// Frame is the whole screen as it is now, m.h lines of m.w columns.
func (m *Model) Frame() string {
	if m.w < leastWidth || m.h < leastHeight {
		return m.tooSmall()
	}
	lines := m.lines()
	var b strings.Builder
	for i := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(lines[i].Paint(&m.theme, m.w))
	}
	return b.String()
}

func (m *Model) tooSmall() string {
	lines := make([]string, max(m.h, 1))
	note := widget.Text(widget.Plain, fmt.Sprintf("%dx%d is too small: xdsproxy needs %dx%d", m.w, m.h, leastWidth, leastHeight))
	lines[0] = note.Paint(&m.theme, max(m.w, 1))
	return strings.Join(lines, "\n")
}

// lines are those of the screen from top to bottom.
func (m *Model) lines() []widget.Line {
	var head, foot []widget.Line
	head = append(head, m.header())
	if m.hasTabs() {
		head = append(head, m.tabLine())
	}
	if l, is := m.banner(); is {
		head = append(head, l)
	}
	if m.hasTabs() {
		foot = append(foot, m.status())
	}
	foot = append(foot, m.messageLine(), m.keyLine())
	rows := m.h - len(head) - len(foot)
	body := m.panes(rows)
	for len(body) < rows {
		body = append(body, widget.Blank())
	}
	lines := append(append(head, body[:rows]...), foot...)
	if m.frozen {
		lines = m.hold(lines)
	}
	if m.palette != nil {
		m.palette.Cover(&m.theme, lines, m.w)
	}
	if m.dialog != nil {
		m.dialog.cover(m, lines)
	}
	m.hideIn(lines, len(head))
	return lines
}

// bodyTop is the row of the screen where the body begins.
func (m *Model) bodyTop() int {
	top := 1
	if m.hasTabs() {
		top++
	}
	if _, is := m.banner(); is {
		top++
	}
	return top
}

// header says what is shown and how it goes. Where there is no room for all,
// the name of the source gives way.
func (m *Model) header() widget.Line {
	l := widget.Spans(widget.In(widget.Title, " xdsproxy  "))
	first, last := m.span()
	switch {
	case m.frozen:
		l.Add(widget.Warned, "FROZEN "+render.ShortTime(m.frozenAt)+" ")
	case m.log.Proxy != nil:
		l.Add(widget.Bad, "REC ")
	case m.log.Live && !m.log.Feed.Done():
		l.Add(widget.Good, "LIVE ")
	}
	if m.private() {
		l.Add(widget.Warned, "PRIVATE ")
	}
	if p := m.log.Proxy; p != nil && slices.ContainsFunc(p.Routes, func(r Route) bool { return r.Unverified }) {
		l.Add(widget.Bad, "UNVERIFIED ")
	}
	l.Add(widget.Plain, render.Clock(last.Sub(first))+"  ")
	tail := m.tally()
	l.Add(widget.Accent, render.Middle(render.Safe(m.what()), max(8, m.w-l.Width()-tail.Width())))
	l.Join(tail)
	return l
}

// what is shown: the routes of the proxy, or a file.
func (m *Model) what() string {
	if m.log.Proxy == nil || len(m.log.Proxy.Routes) == 0 {
		return view.SourceName(m)
	}
	r := m.log.Proxy.Routes[0]
	s := m.aliases.Name(strings.TrimPrefix(r.Listen, "127.0.0.1")) + " > " + m.aliases.Name(r.Upstream)
	if n := len(m.log.Proxy.Routes); n > 1 {
		s += fmt.Sprintf(" +%d", n-1)
	}
	return s
}

// tally is the right part of the header: what there is, and what is wrong.
func (m *Model) tally() widget.Line {
	l := widget.Text(widget.Plain, "   "+render.Count(len(m.seen.Standing), "client", "clients"))
	l.Add(widget.Plain, "   ")
	l.Add(m.seen.Gravity(), render.Count(m.seen.Violations(), "violation", "violations"))
	if gaps := m.log.Index.Gaps(); gaps > 0 {
		l.Add(widget.Bad, "   GAP "+render.Number(gaps))
	}
	if s := m.progress(); s != "" {
		l.Add(widget.Warned, "   "+s)
	}
	return l
}

// span is from when to when the log goes, as far as that is known.
func (m *Model) span() (first, last time.Time) {
	first = m.log.Index.First()
	_, last = m.log.Index.Last()
	if m.log.Proxy != nil && !first.IsZero() {
		last = m.now()
	}
	return first, last
}

// progress says how far the log was read, where that is behind.
func (m *Model) progress() string {
	if m.log.Feed.Done() {
		return ""
	}
	at, _ := m.log.Index.Last()
	if m.log.Proxy != nil {
		if behind := uint64(m.log.Proxy.Stats().Last) - uint64(at); behind > lagShown && behind < 1<<63 {
			return "lag " + render.ShortSize(int64(behind))
		}
		return ""
	}
	if end := m.log.Last; end > at+lagShown {
		return fmt.Sprintf("reading %d%%", uint64(at)*100/uint64(end))
	}
	return ""
}

// lagShown is how many entries behind the screen may be without saying so.
const lagShown = 1000

// tabLine is the views that have a digit and what is open above the one that is
// shown.
func (m *Model) tabLine() widget.Line {
	n := m.news()
	l := m.tabNames(m.crowded())
	if n != "" {
		l.Pad(m.w - render.Width(n) - 1)
		l.Add(widget.Warned, n)
	}
	return l
}

// news is what the line of tabs says at its end.
func (m *Model) news() string {
	if m.tab == 1 && len(m.over) == 0 && !m.isZoomed() {
		return m.timeline.News(m)
	}
	return ""
}

// crowded says that there is no room for the names of all tabs.
func (m *Model) crowded() bool {
	l := m.tabNames(false)
	return l.Width() > m.w-render.Width(m.news())-1
}

// tabWord is the name of a tab; where it is crowded, the others have their digit.
func (m *Model) tabWord(i int, crowded bool) string {
	if crowded && i != m.tab {
		return fmt.Sprint(i + 1)
	}
	return fmt.Sprintf("%d %s", i+1, m.tabs()[i].Title())
}

func (m *Model) tabNames(crowded bool) widget.Line {
	var l widget.Line
	for i := range m.tabs() {
		name := m.tabWord(i, crowded)
		switch {
		case i == m.tab && len(m.over) == 0:
			l.Add(widget.Title, " ["+name+"]")
		case i == m.tab:
			l.Add(widget.Plain, " ["+name+"]")
		default:
			l.Add(widget.Muted, "  "+name+" ")
		}
	}
	if m.isZoomed() {
		l.Add(widget.Title, " > "+m.zoom.Title()+", zoomed")
	}
	for _, v := range m.over {
		l.Add(widget.Title, " > "+v.Title())
	}
	return l
}

// status is the place in the view, the filter, and how times are shown.
func (m *Model) status() widget.Line {
	v := m.top()
	l := widget.Text(widget.Plain, " "+v.Where(m))
	if f, is := v.(view.Filterable); is {
		q := f.Query()
		if q == "" {
			l.Add(widget.Muted, "   "+f.Language().Noun()+": none")
		} else {
			l.Add(widget.Accent, "   "+f.Language().Noun()+": "+m.aliases.Text(q))
		}
	}
	tail := "UTC  " + m.timeline.Times.String() + " "
	if room := m.w - len(tail) - 1; l.Width() > room {
		l.Spans = widget.Cut(l, room)
	}
	l.Pad(m.w - len(tail))
	l.Add(widget.Muted, tail)
	return l
}

// messageLine is the prompt, what was said a moment ago, or what there is to say
// of the selection.
func (m *Model) messageLine() widget.Line {
	if m.prompt != nil {
		return m.prompt.Line(m.w, m.aliases.Text)
	}
	if l, is := m.events.now(m.now()); is {
		return l
	}
	return m.aboutLine()
}

func (m *Model) aboutLine() widget.Line {
	l := widget.Text(widget.Plain, " ")
	l.Join(m.top().About(m))
	return l
}

// keyLine is the keys that matter here.
func (m *Model) keyLine() widget.Line {
	if m.prompt != nil {
		return m.prompt.Keys()
	}
	l := widget.Text(widget.Muted, " ?")
	l.Add(widget.Plain, "help")
	var end widget.Line
	if m.spread() || m.isZoomed() {
		for _, a := range []key.Action{key.NextPane, key.Zoom} {
			end.Add(widget.Muted, " "+key.BindingOf(a).Keys[0]+":")
			end.Add(widget.Plain, key.BindingOf(a).Hint)
		}
	}
	end.Add(widget.Muted, " q:")
	end.Add(widget.Plain, "back")
	used := l.Width()
	all := key.All()
	for _, o := range m.top().Keys() {
		if o.Hint == "" {
			continue
		}
		var next widget.Line
		next.Add(widget.Muted, " "+key.In(all, o.Act).Keys[0]+":")
		next.Add(widget.Plain, o.Hint)
		if used += next.Width(); used > m.w-end.Width() {
			break
		}
		l.Join(next)
	}
	l.Join(end)
	return l
}
