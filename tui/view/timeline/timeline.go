// Package timeline is the list of entries, all of them or those that a filter takes.
package timeline

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// View is the list of entries, all of them or those that a filter takes.
type View struct {
	win     widget.Window
	At      session.Seq // what is selected; the window follows it
	follow  bool
	from    session.Seq // the last entry there was when following was given up
	asked   *filtered
	ahead   *filtered // of a filter that is being typed
	order   order
	before  []string // filters that were set before
	Times   timeForm
	brief   bool                           // few columns, and what each entry says
	details map[session.Seq]*index.Fetched // of visible rows
	wanted  bool                           // details are being read
	folds   folds
}

func New(live bool) *View {
	return &View{follow: live, details: make(map[session.Seq]*index.Fetched)}
}

func (v *View) Title() string { return "Timeline" }

func (v *View) Keys() []key.Offer {
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
		{Act: key.Only, Hint: "only", Help: "only this client; tab: this type, this stream, and so on"},
		{Act: key.Not, Help: "nothing of this client; tab: of this type, this stream, and so on"},
		{Act: key.Unfilter},
		{Act: key.PrevStream},
		{Act: key.NextStream},
		{Act: key.Time},
		{Act: key.Columns},
		{Act: key.Narrower},
		{Act: key.Wider},
		{Act: key.Form, Help: "few columns and what each entry says, or all that there is room for"},
		{Act: key.Sort, Help: "sort by the next column; the timeline stays where it is, and does not follow"},
		{Act: key.Reverse},
		{Act: key.Resources},
		{Act: key.NextMark},
		{Act: key.OnlyMarks},
		{Act: key.Note},
		{Act: key.Toggle, Help: "show what is folded into the row, and fold it again"},
		{Act: key.Right, Help: "show what is folded into the row"},
		{Act: key.Left, Help: "fold it again"},
		{Act: key.CopyAs},
		{Act: key.DiffMark},
	})
}

// total is how many rows the list has.
func (v *View) total(scr view.Screen) int {
	if rows, is := v.picked(); is {
		return len(rows)
	}
	n, last := scr.Log().Index.Extent()
	return n - len(v.folds.hidden) + scr.Log().Unread(last)
}

// position is where an entry is in the list, or the one after it.
func (v *View) position(scr view.Screen, seq session.Seq) int {
	rows, part := v.picked()
	if n, last := scr.Log().Index.Extent(); !part && seq > last && scr.Log().Unread(last) > 0 {
		return n - len(v.folds.hidden) + int(seq-last) - 1
	}
	i := scr.Log().Index.Find(seq)
	switch {
	case v.sorted():
		if at := v.win.At; at < len(rows) && rows[at] == uint32(i) { // looking for it takes long
			return at
		}
		return max(slices.Index(rows, uint32(i)), 0)
	case part:
		i, _ = slices.BinarySearch(rows, uint32(i))
		return i
	}
	return i - v.folds.before(i)
}

// rows are those from a position on.
func (v *View) rows(scr view.Screen, from, most int) []index.Row {
	var out []index.Row
	picked, part := v.picked()
	if !part {
		n, last := scr.Log().Index.Extent()
		listed := n - len(v.folds.hidden)
		for i := v.folds.row(max(from, 0)); i < n && len(out) < most; i++ {
			if v.folds.leavesOut(i) {
				continue
			}
			r, _ := scr.Log().Index.Row(i)
			out = append(out, r)
		}
		for i := max(from, listed); i < min(from+most, listed+scr.Log().Unread(last)); i++ {
			r := index.Row{Seq: last + session.Seq(i-listed) + 1, Flags: index.Unread, Count: index.None}
			if d := v.details[r.Seq]; d != nil {
				r, _ = d.Unread()
			}
			out = append(out, r)
		}
		return out
	}
	for i := max(from, 0); i < min(from+most, len(picked)); i++ {
		if r, ok := scr.Log().Index.Row(int(picked[i])); ok {
			out = append(out, r)
		}
	}
	return out
}

// row is the one that is selected.
func (v *View) row(scr view.Screen) (index.Row, bool) {
	rows := v.rows(scr, v.win.At, 1)
	if len(rows) == 0 {
		return index.Row{}, false
	}
	return rows[0], true
}

// Settle puts the window where the selection is. The selection is an entry, so
// that it stays when rows come or the filter changes.
func (v *View) Settle(scr view.Screen) {
	v.folds.update(scr, v.asked)
	if head, is := v.under(scr, v.At); is {
		v.At = head
	}
	total := v.total(scr)
	switch {
	case v.follow:
		v.win.At = total - 1
	case v.At != 0:
		v.win.At = v.position(scr, v.At)
	}
	v.win.Fit(total, v.win.Rows)
	if r, ok := v.row(scr); ok && (v.follow || v.At == 0) {
		v.At = r.Seq
	}
}

// words are the texts of a row.
func (v *View) words(scr view.Screen, r *index.Row) index.Words {
	if r.Flags&index.Unread == 0 {
		return scr.Log().Index.Words(r)
	}
	if d := v.details[r.Seq]; d != nil {
		_, w := d.Unread()
		return w
	}
	return index.Words{Text: "reading"}
}

// Hold gives following up.
func (v *View) Hold(scr view.Screen) {
	if v.follow {
		v.follow, v.from = false, v.newest(scr)
	}
}

// GoTo selects an entry, and the filter goes if it hides it.
func (v *View) GoTo(scr view.Screen, seq session.Seq) tea.Cmd {
	v.Hold(scr)
	if v.asked != nil {
		if i := scr.Log().Index.Find(seq); !slices.Contains(v.asked.rows, uint32(i)) {
			v.before = append(v.before, v.asked.text())
			v.asked.stop()
			v.asked = nil
		}
	}
	v.folds.update(scr, v.asked)
	if head, is := v.under(scr, seq); is {
		v.folds.set(head, true)
		v.folds.update(scr, v.asked)
	}
	v.At = seq
	if r := v.rows(scr, v.position(scr, seq), 1); len(r) == 0 || r[0].Seq != seq {
		scr.Say("entry %d has no line here", seq)
	}
	v.Settle(scr)
	return nil
}

func (v *View) Do(scr view.Screen, a key.Action) tea.Cmd {
	v.Settle(scr)
	if a == key.Last {
		v.follow = scr.Log().Live && v.order.plain()
		v.At = 0
		v.win.At = v.total(scr) - 1
		v.Settle(scr)
		v.keep(scr)
		return nil
	}
	if slices.Contains(key.Moves(), a) {
		at := v.win.At
		v.win.Move(a, v.total(scr))
		if v.win.At < at || a == key.First {
			v.Hold(scr)
		}
		if !v.follow {
			v.keep(scr)
		}
		return nil
	}
	r, there := v.row(scr)
	switch a {
	case key.Narrower, key.Wider:
		return view.Resize(scr, v, "CLIENT", a)
	case key.Columns:
		return scr.Act(key.Columns, view.Selection{})
	case key.Export:
		return scr.Act(key.Export, view.Selection{})
	case key.Filter:
		return scr.Prompt(view.EntryFilter, v.Query())
	case key.Unfilter:
		return v.unfilter(scr)
	case key.Follow:
		v.toggleFollow(scr)
		return nil
	case key.Time:
		v.Times = v.Times.next()
		scr.Say("times: %s", v.Times)
		return nil
	case key.Sort:
		return v.sortBy(scr, (v.order.by+1)%index.Column(len(orders())), false)
	case key.Reverse:
		return v.sortBy(scr, v.order.by, !v.order.turned)
	case key.Form:
		if v.brief = !v.brief; v.brief {
			scr.Say("columns: what each entry says")
		} else {
			scr.Say("columns: all that there is room for")
		}
		return v.readDetails(scr)
	case key.NextMark, key.OnlyMarks:
		return v.marks(scr, a)
	}
	if !there {
		scr.Say("there is nothing here yet")
		return nil
	}
	v.Hold(scr)
	v.At = r.Seq
	w := v.words(scr, &r)
	switch a {
	case key.Open:
		return scr.Act(key.Open, view.Selection{Seq: r.Seq})
	case key.Pair:
		if other := view.Pair(scr, &r); other != 0 {
			_ = v.GoTo(scr, other)
		}
	case key.PrevStream, key.NextStream:
		v.onStream(scr, &r, a == key.NextStream)
	case key.Only, key.Not:
		return scr.Narrow(view.EntryFilter, view.RowTerms(scr, &r), a == key.Not)
	case key.Diff, key.DiffMark:
		return scr.Act(a, v.Selected(scr))
	case key.Ladder:
		return scr.Act(key.Ladder, v.Selected(scr))
	case key.Resources:
		return scr.Act(key.Resources, view.Selection{Client: w.Client})
	case key.Toggle, key.Left, key.Right:
		v.fold(scr, &r, a)
	case key.Mark:
		return scr.Act(key.Mark, view.Selection{Seq: r.Seq})
	case key.Note:
		return scr.Prompt(view.NotePrompt, scr.Log().Index.Remark(r.Seq))
	case key.Copy:
		return scr.Copy(v.RowText(scr, &r), "the row")
	case key.CopyAs:
		return scr.Act(key.CopyAs, view.Selection{Seq: r.Seq})
	}
	return nil
}

// keep makes what is at the window's place the selection.
func (v *View) keep(scr view.Screen) {
	if r, ok := v.row(scr); ok {
		v.At = r.Seq
	}
}

func (v *View) toggleFollow(scr view.Screen) {
	switch {
	case !v.order.plain():
		scr.Say("sorted by %s, what comes is not at the end; sort by SEQ to follow", v.order.String())
	case !scr.Log().Live || scr.Log().Feed.Done():
		scr.Say("there is nothing to follow: the recording has ended")
	case v.follow:
		v.Hold(scr)
		scr.Say("staying here; f or G follows again")
	default:
		v.follow = true
	}
}

// onStream goes to the entry before or after on the same stream.
func (v *View) onStream(scr view.Screen, r *index.Row, forward bool) {
	if seq := scr.Log().Index.OnStream(r, forward); seq != 0 {
		_ = v.GoTo(scr, seq)
		return
	}
	scr.Say("%d is the %s of its stream", r.Seq, map[bool]string{true: "last", false: "first"}[forward])
}

func (v *View) unfilter(scr view.Screen) tea.Cmd {
	if len(v.before) == 0 {
		scr.Say("there was no filter before")
		return nil
	}
	last := v.before[len(v.before)-1]
	v.before = v.before[:len(v.before)-1]
	cmd := v.set(scr, last)
	return cmd
}

func (v *View) Query() string {
	if v.asked == nil {
		return ""
	}
	return v.asked.text()
}

func (v *View) Language() view.PromptKind { return view.EntryFilter }

func (v *View) Ask(scr view.Screen, text string) (tea.Cmd, error) {
	if _, err := filter.Parse(text); err != nil {
		return nil, err
	}
	if text == v.Query() {
		return nil, nil
	}
	v.before = append(v.before, v.Query())
	return v.set(scr, text), nil
}

func (v *View) set(scr view.Screen, text string) tea.Cmd {
	if v.asked != nil {
		v.asked.stop()
		v.asked = nil
	}
	if text == "" {
		return nil
	}
	f, err := filter.Parse(text)
	if err != nil {
		scr.Complain(err)
		return nil
	}
	if v.asked, v.ahead = v.ahead, nil; v.asked == nil || v.asked.text() != text {
		v.asked = newFiltered(scr, f)
	}
	return v.asked.advance(scr, v)
}

func (v *View) Tick(scr view.Screen) tea.Cmd {
	var cmds []tea.Cmd
	if v.asked != nil {
		cmds = append(cmds, v.asked.advance(scr, v))
	}
	v.Settle(scr)
	return tea.Batch(append(cmds, v.arrange(scr), v.readDetails(scr))...)
}

func (v *View) Handle(scr view.Screen, msg any) tea.Cmd {
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
		return msg.of.took(scr, v, msg)
	case arranged:
		return v.took(scr, msg)
	}
	return nil
}

func (v *View) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	if y == 0 {
		return nil // the titles
	}
	if i := v.win.Top + y - 1; i < v.total(scr) {
		v.Hold(scr)
		v.win.At = i
		v.keep(scr)
		if twice {
			return v.Do(scr, key.Open)
		}
	}
	return nil
}

// News says how many rows have come since following was given up.
func (v *View) News(scr view.Screen) string {
	switch {
	case v.follow:
		return "FOLLOW"
	case !scr.Log().Live || !v.order.plain():
		return ""
	}
	if n := v.total(scr) - v.position(scr, v.from+1); n > 0 {
		return render.Number(int64(n)) + " new, G: go"
	}
	return ""
}

func (v *View) Where(scr view.Screen) string {
	total := render.Number(int64(v.total(scr)))
	if v.asked != nil {
		if s := v.asked.progress(scr); s != "" {
			return fmt.Sprintf("%s found, %s", total, s)
		}
	}
	s := v.win.Place(v.total(scr))
	if !v.order.plain() {
		s += "   sort: " + v.order.String()
	}
	return s
}

func (v *View) Selected(scr view.Screen) view.Selection {
	r, ok := v.row(scr)
	if !ok {
		return view.Selection{}
	}
	w := v.words(scr, &r)
	return view.Selection{Client: w.Client, Seq: r.Seq, Type: w.Type}
}

// About is what rules found with the selected entry, or what it says.
func (v *View) About(scr view.Screen) widget.Line {
	r, ok := v.row(scr)
	if !ok {
		return widget.Line{}
	}
	var l widget.Line
	if s := scr.Log().Index.Remark(r.Seq); s != "" {
		l.Add(widget.Accent, "; "+scr.Aliases().Text(s)+"   ")
	}
	if n := v.again(scr, r.Seq); n > 0 && !v.folds.open[r.Seq] {
		l.Add(widget.Accent, "and "+render.Count(int64(n), "time", "times")+" again, space unfolds   ")
	}
	if f := scr.Seen().Finding(r.Seq); f != nil {
		l.Add(view.SeverityRole(f.Severity), f.Rule.ID+" ")
		l.Add(widget.Plain, scr.Aliases().Text(f.Message))
		return l
	}
	if r.Kind != session.KindMessage {
		l.Add(widget.Plain, scr.Aliases().Text(v.words(scr, &r).Text))
	} else if d := v.details[r.Seq]; d != nil {
		l.Add(widget.Plain, render.Describe(&d.Entry, &d.Change, scr.Width()-2, scr.Aliases().Text))
	}
	return l
}

// Follows makes an entry the selection of the timeline, if it has a line there.
func (v *View) Follows(scr view.Screen, seq session.Seq) {
	v.folds.update(scr, v.asked)
	if head, is := v.under(scr, seq); is {
		seq = head
	}
	if r := v.rows(scr, v.position(scr, seq), 1); len(r) == 1 && r[0].Seq == seq {
		v.Hold(scr)
		v.At = seq
		v.Settle(scr)
	}
}

// Ahead says whether the selection goes on by itself.
func (v *View) Ahead() bool { return v.follow }

// marks walks along marks, or shows them alone.
func (v *View) marks(scr view.Screen, a key.Action) tea.Cmd {
	if a == key.OnlyMarks {
		terms := view.SplitTerms(v.Query())
		want := view.Join(v.Query(), onlyMarked)
		if i := slices.Index(terms, onlyMarked); i >= 0 {
			want = strings.Join(slices.Delete(terms, i, i+1), " ")
		} else if len(scr.Log().Index.Marks()) == 0 {
			scr.Say("nothing is marked yet; m marks an entry")
			return nil
		}
		cmd, err := v.Ask(scr, want)
		if err != nil {
			scr.Complain(err)
		}
		return cmd
	}
	marks := scr.Log().Index.Marks()
	if len(marks) == 0 {
		scr.Say("nothing is marked yet; m marks an entry")
		return nil
	}
	next := slices.IndexFunc(marks, func(s session.Seq) bool { return s > v.At })
	if next < 0 {
		next = 0
		if marks[0] == v.At {
			scr.Say("this is the only mark")
			return nil
		}
		scr.Say("from the first mark again")
	}
	return v.GoTo(scr, marks[next])
}

const onlyMarked = "marked:yes"
