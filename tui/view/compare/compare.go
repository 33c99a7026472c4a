// Package compare is the view of two versions beside each other, and of the walk
// along the versions of a resource.
package compare

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// View is two versions of something beside each other: all resources of a
// response that differ, one resource, or two messages.
type View struct {
	view.Text
	of     view.Selection
	typ    string
	items  []index.Compared // those that differ, or all if there is only one
	same   int              // resources that do not differ
	whole  map[int]bool     // items whose equal lines are shown
	first  int              // of items, that the text begins with
	after  int              // the first one behind those that it has
	starts []int            // of the texts before

	busy string // what is being done, "" if nothing
	stop context.CancelFunc
	run  *historyRun // that is going on
	past *past       // versions of the resource that is walked; nil: none is
	by   int         // which way to walk when they are there
}

// compareReady is what a comparison gave.
type compareReady struct {
	Typ   string
	Items []index.Compared
	Err   error
	of    int // version that it shows, from 0; -1: none
}

// Open compares what is selected with what was there before, or with the
// mark.
func Open(scr view.Screen, s view.Selection, toMark bool) tea.Cmd {
	switch {
	case s.Seq != 0:
	case s.Client == "":
		scr.Say("nothing is selected that could be compared")
		return nil
	case s.Name == "":
		scr.Say("no response to %s was seen", scr.Aliases().Name(s.Client))
		return nil
	}
	v := &View{of: s, typ: s.Type, whole: make(map[int]bool)}
	var mark session.Seq
	if toMark {
		if mark = markNear(scr.Log(), s.Seq); mark == 0 {
			scr.Say("nothing else is marked; m marks an entry")
			return nil
		}
	}
	scr.Push(v)
	if s.Name != "" && !toMark {
		return v.history(scr, history.Selection{Client: s.Client, Type: s.Type, Name: s.Name}, of(s))
	}
	log := scr.Log()
	return v.compute(scr, "comparing", func(ctx context.Context) compareReady { return CompareSelection(ctx, log, s, mark) })
}

// of is the entry whose version of a resource is meant: of a finding the first one
// that proves it, of a push its response; else 0, which is the last version.
func of(s view.Selection) session.Seq {
	if len(s.Proof) > 0 {
		return s.Proof[0]
	}
	return 0
}

// markNear is the marked entry that is nearest to one, 0 if there is none.
func markNear(log *view.Log, seq session.Seq) session.Seq {
	const most = 1 << 16
	at := log.Index.Find(seq)
	for by := range most {
		for _, i := range []int{at - by, at + by} {
			if r, ok := log.Index.Row(i); ok && r.Seq != seq && r.Kind == session.KindMessage && log.Index.Marked(r.Seq) {
				return r.Seq
			}
		}
		if at-by < 0 && at+by >= log.Index.Len() {
			break
		}
	}
	return 0
}

// compute runs a comparison beside the loop.
func (v *View) compute(scr view.Screen, what string, f func(context.Context) compareReady) tea.Cmd {
	v.cancel()
	ctx, stop := context.WithCancel(scr.Log().Context)
	v.busy, v.stop = what, stop
	return view.Answer(v, func() any {
		out := f(ctx)
		if ctx.Err() != nil {
			return nil
		}
		return out
	})
}

func (v *View) cancel() {
	if v.stop != nil {
		v.stop()
	}
	v.stop, v.busy, v.run = nil, "", nil
}

// CompareSelection compares an entry with what was there before, or with a mark.
func CompareSelection(ctx context.Context, log *view.Log, s view.Selection, mark session.Seq) compareReady {
	seq := s.Seq
	r, ok := log.Index.BySeq(seq)
	if !ok || r.Kind != session.KindMessage {
		return compareReady{Err: fmt.Errorf("%d is no message: there is nothing to compare", seq)}
	}
	w := log.Index.Words(&r)
	out := compareReady{Typ: w.Type, of: -1}
	switch {
	case mark != 0:
		out.one(log.Fetch.Messages(ctx, min(mark, seq), max(mark, seq)))
	case r.What.Response():
		out.response(log.Fetch.Against(ctx, seq, true))
	case r.What == index.NACK && r.Partner() != 0:
		out.response(log.Fetch.Against(ctx, r.Partner(), true))
	default:
		before := log.Index.RequestBefore(seq)
		if before == 0 {
			out.Err = fmt.Errorf("%d is the first of its kind on its stream: there is nothing to compare it with", seq)
			break
		}
		out.one(log.Fetch.Messages(ctx, before, seq))
	}
	return out
}

func (r *compareReady) one(c *index.Compared, err error) {
	if r.Err = err; err == nil {
		r.Items = []index.Compared{*c}
	}
}

func (r *compareReady) response(a *index.Against, err error) {
	if r.Err = err; err == nil {
		r.Items = a.Resources
	}
}

func (v *View) Handle(scr view.Screen, msg any) tea.Cmd {
	switch msg := msg.(type) {
	case compareReady:
		v.cancel()
		if msg.Err != nil {
			if len(v.items) == 0 {
				scr.Pop(v)
			}
			scr.Complain(msg.Err)
			return nil
		}
		v.take(msg)
		if name := v.of.Within; name != "" && len(v.items) > 0 && !slices.ContainsFunc(v.items, func(c index.Compared) bool { return c.Name == name }) {
			scr.Say("%s does not differ; this is the first one that does", scr.Aliases().Name(name))
		}
	case lookedInto:
		v.tookInto(scr, msg)
	case historyStep:
		return v.historyTook(scr, msg)
	default:
		return v.HandlePager(scr, v, msg)
	}
	return nil
}

// take shows what a comparison gave: those that differ first, by what happened
// to them.
func (v *View) take(r compareReady) {
	if r.Typ != "" {
		v.typ = r.Typ
	}
	v.items, v.same = nil, 0
	for i := range r.Items {
		if r.Items[i].Kind == diff.Same && len(r.Items) > 1 {
			v.same++
			continue
		}
		v.items = append(v.items, r.Items[i])
	}
	if r.of < 0 {
		v.past = nil
	}
	clear(v.whole)
	v.first, v.starts = 0, nil
	v.Pane.Restart(v.lines())
	if v.of.Within == "" || !v.begin(v.of.Within) {
		v.toFirst()
	}
}

// toFirst selects the first difference of the text.
func (v *View) toFirst() {
	if changes := v.Pane.Changes(); len(changes) > 0 {
		v.Pane.Show(changes[0])
		v.Pane.Center, v.Pane.Win.Top = false, 0
	}
}

// begin goes to the first difference of a resource, wherever it is; false if it
// does not differ.
func (v *View) begin(name string) bool {
	i := slices.IndexFunc(v.items, func(c index.Compared) bool { return c.Name == name && c.Kind != diff.Same })
	if i < 0 {
		return false
	}
	if i >= v.after {
		v.first = i
		v.Pane.Restart(v.lines())
	}
	for _, at := range v.Pane.Changes() {
		if v.Pane.Lines[at].Of == i {
			v.Pane.Show(at)
			return true
		}
	}
	return false
}

// lookedInto is a comparison that was made for itself.
type lookedInto struct {
	at   int // of items
	item *index.Compared
	err  error
}

// lookInto compares one resource of many in depth.
func (v *View) lookInto(scr view.Screen, at int) tea.Cmd {
	c, log := v.items[at], scr.Log()
	return view.Answer(v, func() any {
		item, err := log.Fetch.Resources(log.Context, c.Name, c.Old.Seq, c.New.Seq)
		return lookedInto{at, item, err}
	})
}

func (v *View) tookInto(scr view.Screen, l lookedInto) {
	if l.err != nil {
		scr.Complain(l.err)
		return
	}
	if l.at >= len(v.items) || v.items[l.at].Name != l.item.Name { // another comparison came meanwhile
		return
	}
	c := &v.items[l.at]
	c.Result, c.Only = l.item.Result, l.item.Only
	v.Pane.Set(v.lines())
	v.begin(c.Name)
}

// item is what the cursor is in; nil if there is nothing.
func (v *View) item() *index.Compared {
	if len(v.items) == 0 {
		return nil
	}
	of := 0
	if at := v.Pane.Current(); at >= 0 {
		of = v.Pane.Lines[at].Of
	}
	return &v.items[min(of, len(v.items)-1)]
}

func (v *View) Title() string { return "Diff" }

func (v *View) Keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.NextMatch, Hint: "next", Help: "the next difference, or the next match of a search"},
		{Act: key.PrevMatch},
		{Act: key.Older, Hint: "older", Help: "the version of this resource before"},
		{Act: key.Newer, Hint: "newer"},
		{Act: key.Toggle, Hint: "fold", Help: "fold a resource; on equal lines, show them; on one that was not looked into, look"},
		{Act: key.Filter, Hint: "search", Help: "search the text"},
		{Act: key.Copy, Hint: "copy", Help: "copy what is under the cursor"},
		{Act: key.Pager, Hint: "pager"},
		{Act: key.Open, Hint: "open", Help: "the message that brought the newer version"},
		{Act: key.Wrap, Hint: "wrap"},
		{Act: key.Left, Help: "scroll to the left"},
		{Act: key.Right, Help: "scroll to the right"},
		{Act: key.Close, Help: "stop what is being read; then back"},
	})
}

func (v *View) Do(scr view.Screen, a key.Action) tea.Cmd {
	if v.Pane.Do(a) {
		return nil
	}
	switch a {
	case key.Close:
		return v.close(scr)
	case key.NextMatch, key.PrevMatch:
		v.onward(scr, a == key.NextMatch)
	case key.Older:
		return v.walk(scr, -1)
	case key.Newer:
		return v.walk(scr, 1)
	case key.Toggle:
		return v.toggle(scr)
	case key.Filter:
		return scr.Prompt(view.TextSearch, v.Query())
	case key.Copy:
		text, what := v.Pane.UnderCursor()
		return scr.Copy(scr.Aliases().Text(text), what)
	case key.Pager:
		return view.ToPager(scr, v, view.PagerText{Text: v.head(scr, 200) + "\n\n" + v.plainText(), Ext: "diff"})
	case key.Open:
		if c := v.item(); c != nil && max(c.New.Seq, c.Old.Seq) != 0 {
			return scr.Act(key.Open, view.Selection{Seq: max(c.New.Seq, c.Old.Seq), Name: c.Name})
		}
	}
	return nil
}

// close stops what is being read, or else does what esc does.
func (v *View) close(scr view.Screen) tea.Cmd {
	if v.busy == "" || len(v.items) == 0 {
		v.cancel()
		return scr.Act(key.Close, view.Selection{})
	}
	v.cancel()
	scr.Say("stopped")
	return nil
}

func (v *View) onward(scr view.Screen, forward bool) {
	of, none := v.Pane.Changes(), "there is no difference to go to"
	if v.Pane.Text != "" {
		of, none = v.Pane.Found, "no line matches"
	}
	at := v.Pane.Current()
	switch {
	case v.Pane.Text == "" && forward && v.after < len(v.items) && (len(of) == 0 || at >= of[len(of)-1]):
		v.starts = append(v.starts, v.first)
		v.first = v.after
		v.Pane.Restart(v.lines())
		v.toFirst()
	case v.Pane.Text == "" && !forward && len(v.starts) > 0 && (len(of) == 0 || at <= of[0]):
		v.first, v.starts = v.starts[len(v.starts)-1], v.starts[:len(v.starts)-1]
		v.Pane.Restart(v.lines())
		if of = v.Pane.Changes(); len(of) > 0 {
			v.Pane.Show(of[len(of)-1])
		}
	case !v.Pane.Next(of, forward):
		scr.Say("%s", none)
	}
}

// toggle looks into a resource, shows its equal lines, or folds it.
func (v *View) toggle(scr view.Screen) tea.Cmd {
	at := v.Pane.Current()
	if at < 0 {
		scr.Say("there is nothing to fold here")
		return nil
	}
	of := v.Pane.Lines[at].Of
	if of < len(v.items) && unseen(&v.items[of]) {
		return v.lookInto(scr, of)
	}
	if v.Pane.Lines[at].Folded || v.whole[of] {
		v.whole[of] = !v.whole[of]
		v.Pane.Set(v.lines())
		return nil
	}
	if !v.Pane.Toggle() {
		scr.Say("there is nothing to fold here")
	}
	return nil
}

// Ask searches what is on the screen.
func (v *View) Ask(scr view.Screen, text string) (tea.Cmd, error) {
	cmd, err := v.Text.Ask(scr, text)
	if err != nil && (v.first > 0 || v.after < len(v.items)) {
		err = fmt.Errorf("%w in this part of the differences; o has all of them in the pager", err)
	}
	return cmd, err
}

func (v *View) Selected(view.Screen) view.Selection {
	s := v.of
	if c := v.item(); c != nil {
		s.Seq, s.Name = max(c.New.Seq, c.Old.Seq), c.Name
	}
	return s
}

func (v *View) Click(_ view.Screen, _, y int, _ bool) tea.Cmd {
	v.Pane.Click(y - diffHead)
	return nil
}
