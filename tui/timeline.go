package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// timeline is the list of entries, all of them or those that a filter takes.
type timeline struct {
	win     widget.Window
	at      session.Seq // what is selected; the window follows it
	follow  bool
	from    int // rows there were when following was given up
	asked   *filtered
	before  []string // filters that were set before
	times   timeForm
	brief   bool                           // few columns, and what each entry says
	details map[session.Seq]*index.Fetched // of visible rows
	wanted  bool                           // details are being read
}

func newTimeline(live bool) *timeline {
	return &timeline{follow: live, details: make(map[session.Seq]*index.Fetched)}
}

func (v *timeline) title() string { return "Timeline" }

func (v *timeline) keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Filter, Hint: "filter"},
		{Act: key.Follow, Hint: "follow"},
		{Act: key.Open, Hint: "open", Help: "the message in full"},
		{Act: key.Pair, Hint: "pair"},
		{Act: key.Diff, Hint: "diff"},
		{Act: key.Mark, Hint: "mark"},
		{Act: key.Copy, Hint: "copy", Help: "copy the row"},
		{Act: key.Export, Hint: "export"},
		{Act: key.Ladder, Hint: "ladder", Help: "the conversation of this stream as a ladder"},
		{Act: key.Only, Help: "only this client; again: this type; again: this stream"},
		{Act: key.Not, Help: "nothing of this client"},
		{Act: key.Unfilter},
		{Act: key.PrevStream},
		{Act: key.NextStream},
		{Act: key.Time},
		{Act: key.Columns, Help: "few columns and what each entry says, or all that there is room for"},
		{Act: key.Resources},
		{Act: key.NextMark},
		{Act: key.OnlyMarks},
		{Act: key.Note},
		{Act: key.CopyAs},
		{Act: key.DiffMark},
	})
}

// total is how many rows the list has.
func (v *timeline) total(m *Model) int {
	if v.asked != nil {
		return len(v.asked.rows)
	}
	n, last := m.log.Index.Extent()
	return n + m.unread(last)
}

// unread is how many entries there are behind the one that the feed read last,
// as far as that is known.
func (m *Model) unread(last session.Seq) int {
	if m.log.Feed.Done() || m.log.Last <= last {
		return 0
	}
	return int(m.log.Last - last)
}

// position is where an entry is in the list, or the one after it.
func (v *timeline) position(m *Model, seq session.Seq) int {
	if n, last := m.log.Index.Extent(); v.asked == nil && seq > last && m.unread(last) > 0 {
		return n + int(seq-last) - 1
	}
	i := m.log.Index.Find(seq)
	if v.asked != nil {
		i, _ = slices.BinarySearch(v.asked.rows, uint32(i))
	}
	return i
}

// rows are those from a position on.
func (v *timeline) rows(m *Model, from, most int) []index.Row {
	var out []index.Row
	if v.asked == nil {
		n, last := m.log.Index.Extent()
		out = m.log.Index.Rows(nil, from, min(most, max(n-from, 0)))
		for i := max(from, n); i < min(from+most, n+m.unread(last)); i++ {
			r := index.Row{Seq: last + session.Seq(i-n) + 1, Flags: index.Unread, Count: index.None}
			if d := v.details[r.Seq]; d != nil {
				r, _ = d.Unread()
			}
			out = append(out, r)
		}
		return out
	}
	for i := max(from, 0); i < min(from+most, len(v.asked.rows)); i++ {
		if r, ok := m.log.Index.Row(int(v.asked.rows[i])); ok {
			out = append(out, r)
		}
	}
	return out
}

// row is the one that is selected.
func (v *timeline) row(m *Model) (index.Row, bool) {
	rows := v.rows(m, v.win.At, 1)
	if len(rows) == 0 {
		return index.Row{}, false
	}
	return rows[0], true
}

// settle puts the window where the selection is. The selection is an entry, so
// that it stays when rows come or the filter changes.
func (v *timeline) settle(m *Model) {
	total := v.total(m)
	switch {
	case v.follow:
		v.win.At = total - 1
	case v.at != 0:
		v.win.At = v.position(m, v.at)
	}
	v.win.Fit(total, v.win.Rows)
	if r, ok := v.row(m); ok && (v.follow || v.at == 0) {
		v.at = r.Seq
	}
}

// words are the texts of a row.
func (v *timeline) words(m *Model, r *index.Row) index.Words {
	if r.Flags&index.Unread == 0 {
		return m.log.Index.Words(r)
	}
	if d := v.details[r.Seq]; d != nil {
		_, w := d.Unread()
		return w
	}
	return index.Words{Text: "reading"}
}

// hold gives following up.
func (v *timeline) hold(m *Model) {
	if v.follow {
		v.follow, v.from = false, v.total(m)
	}
}

// goTo selects an entry, and the filter goes if it hides it.
func (v *timeline) goTo(m *Model, seq session.Seq) tea.Cmd {
	v.hold(m)
	if v.asked != nil {
		if r := v.rows(m, v.position(m, seq), 1); len(r) == 0 || r[0].Seq != seq {
			v.before = append(v.before, v.asked.text())
			v.asked.stop()
			v.asked = nil
		}
	}
	v.at = seq
	if r := v.rows(m, v.position(m, seq), 1); len(r) == 0 || r[0].Seq != seq {
		m.say("entry %d has no line here", seq)
	}
	v.settle(m)
	return nil
}

func (v *timeline) do(m *Model, a key.Action) tea.Cmd {
	v.settle(m)
	if a == key.Last {
		v.follow = m.log.Source.Live
		v.at = 0
		v.win.At = v.total(m) - 1
		v.settle(m)
		v.keep(m)
		return nil
	}
	if slices.Contains(key.Moves(), a) {
		at := v.win.At
		v.win.Move(a, v.total(m))
		if v.win.At < at || a == key.First {
			v.hold(m)
		}
		if !v.follow {
			v.keep(m)
		}
		return nil
	}
	r, there := v.row(m)
	switch a {
	case key.Export:
		return m.export()
	case key.Filter:
		return m.open(entryFilter, v.query())
	case key.Unfilter:
		return v.unfilter(m)
	case key.Follow:
		v.toggleFollow(m)
		return nil
	case key.Time:
		v.times = v.times.next()
		m.say("times: %s", v.times)
		return nil
	case key.Columns:
		if v.brief = !v.brief; v.brief {
			m.say("columns: what each entry says")
		} else {
			m.say("columns: all that there is room for")
		}
		return v.readDetails(m)
	case key.NextMark, key.OnlyMarks:
		return m.marksDo(a)
	}
	if !there {
		m.say("there is nothing here yet")
		return nil
	}
	v.hold(m)
	v.at = r.Seq
	w := v.words(m, &r)
	switch a {
	case key.Open:
		m.push(newDetail(m, r.Seq))
	case key.Pair:
		v.pair(m, &r)
	case key.PrevStream, key.NextStream:
		v.onStream(m, &r, a == key.NextStream)
	case key.Only, key.Not:
		return v.narrow(m, &r, w, a == key.Not)
	case key.Diff, key.DiffMark:
		return m.openDiff(v.selected(m), a == key.DiffMark)
	case key.Ladder:
		return m.openLadder(v.selected(m))
	case key.Resources:
		return m.openResources(w.Client)
	case key.Mark:
		m.mark(r.Seq)
	case key.Note:
		return m.open(notePrompt, m.log.Index.Remark(r.Seq))
	case key.Copy:
		return m.copy(v.rowText(m, &r), "the row")
	case key.CopyAs:
		return m.copyAs(r.Seq)
	}
	return nil
}

// keep makes what is at the window's place the selection.
func (v *timeline) keep(m *Model) {
	if r, ok := v.row(m); ok {
		v.at = r.Seq
	}
}

func (v *timeline) toggleFollow(m *Model) {
	switch {
	case !m.log.Source.Live || m.log.Feed.Done():
		m.say("there is nothing to follow: the recording has ended")
	case v.follow:
		v.hold(m)
		m.say("staying here; f or G follows again")
	default:
		v.follow = true
	}
}

func (v *timeline) pair(m *Model, r *index.Row) {
	switch other := r.Partner(); {
	case other != 0:
		_ = v.goTo(m, other)
	case r.What.Response():
		m.say("no answer to %d was seen", r.Seq)
	case r.What == index.SUB || r.What == index.REQ || r.What == index.UNSUB:
		m.say("%d answers no response: it asks", r.Seq)
	default:
		m.say("%d is no message that is answered", r.Seq)
	}
}

// onStream goes to the entry before or after on the same stream.
func (v *timeline) onStream(m *Model, r *index.Row, forward bool) {
	if seq := m.log.Index.OnStream(r, forward); seq != 0 {
		_ = v.goTo(m, seq)
		return
	}
	m.say("%d is the %s of its stream", r.Seq, map[bool]string{true: "last", false: "first"}[forward])
}

// narrow adds a term to the filter: the client, or the type if that is already
// there, or the stream.
func (v *timeline) narrow(m *Model, r *index.Row, w index.Words, not bool) tea.Cmd {
	terms := []string{}
	if w.Client != "" {
		terms = append(terms, "client:"+quoted(w.Client))
	}
	if w.Type != "" {
		terms = append(terms, "type:"+w.Type)
	}
	if w.Stream != 0 {
		terms = append(terms, fmt.Sprintf("stream:%d", w.Stream))
	}
	for _, t := range terms {
		if not {
			t = "-" + t
		}
		if !slices.Contains(splitTerms(v.query()), t) {
			cmd, err := v.ask(m, join(v.query(), t))
			if err != nil {
				m.complain(err)
			}
			return cmd
		}
	}
	m.say("the filter says all that already")
	return nil
}

func (v *timeline) unfilter(m *Model) tea.Cmd {
	if len(v.before) == 0 {
		m.say("there was no filter before")
		return nil
	}
	last := v.before[len(v.before)-1]
	v.before = v.before[:len(v.before)-1]
	cmd := v.set(m, last)
	return cmd
}

func (v *timeline) query() string {
	if v.asked == nil {
		return ""
	}
	return v.asked.text()
}

func (v *timeline) language() promptKind { return entryFilter }

func (v *timeline) ask(m *Model, text string) (tea.Cmd, error) {
	if _, err := filter.Parse(text); err != nil {
		return nil, err
	}
	if text == v.query() {
		return nil, nil
	}
	v.before = append(v.before, v.query())
	return v.set(m, text), nil
}

func (v *timeline) set(m *Model, text string) tea.Cmd {
	if v.asked != nil {
		v.asked.stop()
		v.asked = nil
	}
	if text == "" {
		return nil
	}
	f, err := filter.Parse(text)
	if err != nil {
		m.complain(err)
		return nil
	}
	v.asked = newFiltered(m, f)
	return v.asked.advance(m, v)
}

func (v *timeline) tick(m *Model) tea.Cmd {
	var cmds []tea.Cmd
	if v.asked != nil {
		cmds = append(cmds, v.asked.advance(m, v))
	}
	v.settle(m)
	return tea.Batch(append(cmds, v.readDetails(m))...)
}

func (v *timeline) handle(m *Model, msg any) tea.Cmd {
	switch msg := msg.(type) {
	case fetchedRows:
		v.wanted = false
		if len(v.details) > 4*len(msg)+256 {
			clear(v.details)
		}
		for seq, got := range msg {
			v.details[seq] = got
		}
	case scanned:
		return msg.of.took(m, v, msg)
	}
	return nil
}

func (v *timeline) click(m *Model, _, y int, twice bool) tea.Cmd {
	if y == 0 {
		return nil // the titles
	}
	if i := v.win.Top + y - 1; i < v.total(m) {
		v.hold(m)
		v.win.At = i
		v.keep(m)
		if twice {
			return v.do(m, key.Open)
		}
	}
	return nil
}

// news says how many rows have come since following was given up.
func (v *timeline) news(m *Model) string {
	switch {
	case v.follow:
		return "FOLLOW"
	case !m.log.Source.Live:
		return ""
	}
	if n := v.total(m) - v.from; n > 0 {
		return render.Number(int64(n)) + " new, G: go"
	}
	return ""
}

func (v *timeline) where(m *Model) string {
	total := render.Number(int64(v.total(m)))
	if v.asked != nil {
		if s := v.asked.progress(m); s != "" {
			return fmt.Sprintf("%s found, %s", total, s)
		}
	}
	if v.total(m) == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%s of %s", render.Number(int64(v.win.At+1)), total)
}

func (v *timeline) selected(m *Model) selection {
	r, ok := v.row(m)
	if !ok {
		return selection{}
	}
	w := v.words(m, &r)
	return selection{client: w.Client, seq: r.Seq, typ: w.Type}
}

// about is what rules found with the selected entry, or what it says.
func (v *timeline) about(m *Model) widget.Line {
	r, ok := v.row(m)
	if !ok {
		return widget.Line{}
	}
	var l widget.Line
	if s := m.log.Index.Remark(r.Seq); s != "" {
		l.Add(widget.Accent, "; "+m.aliases.Text(s)+"   ")
	}
	if f := m.findingOf(r.Seq); f != nil {
		l.Add(severityRole(f.Severity), f.Rule.ID+" ")
		l.Add(widget.Plain, m.aliases.Text(f.Message))
		return l
	}
	if r.Kind != session.KindMessage {
		l.Add(widget.Plain, m.aliases.Text(v.words(m, &r).Text))
	} else if d := v.details[r.Seq]; d != nil {
		l.Add(widget.Plain, m.aliases.Text(render.Describe(&d.Entry, &d.Change, m.w-2)))
	}
	return l
}

// findingOf is the gravest finding that an entry proved.
func (m *Model) findingOf(seq session.Seq) *check.Finding {
	var best *check.Finding
	for i := range m.seen.findings {
		f := &m.seen.findings[i]
		if (f.LastSeq == seq || slices.Contains(f.Seqs, seq)) && (best == nil || f.Severity > best.Severity) {
			best = f
		}
	}
	return best
}
