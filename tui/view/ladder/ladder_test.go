package ladder

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// TestLadderLong: of a long stream a part is drawn, and more when one gets to its
// end.
func TestLadderLong(t *testing.T) {
	es := viewtest.StreamBegins()
	for range 3 * stepsAfter {
		es = append(es, viewtest.MessageEntry(session.Client, viewtest.Field(4, "type.googleapis.com/envoy.config.cluster.v3.Cluster")))
	}
	scr := viewtest.New(t, viewtest.Record(t, es...)).Read(t)
	run := func(cmd tea.Cmd) {
		for cmd != nil {
			reply := cmd().(view.Reply)
			cmd = reply.To.Handle(scr, reply.Msg)
		}
	}
	run(Open(scr, view.Selection{Seq: 1}))
	v := scr.Top().(*View)
	if want := scr.Columns() - widget.TextGutter; v.width != want {
		t.Errorf("it is laid out for %d columns before it is drawn in %d", v.width, want)
	}
	do := func(a key.Action) {
		run(v.Do(scr, a))
		_ = v.Draw(scr, 80, 20)
	}
	if _ = v.Draw(scr, 80, 20); v.drawn.Len() > stepsBefore+stepsAfter || !v.later || v.earlier {
		t.Errorf("%d steps, more before: %v, behind: %v", v.drawn.Len(), v.earlier, v.later)
	}
	for range 160 {
		do(key.PageDown)
	}
	if v.later || !v.earlier {
		t.Errorf("at %d there is more before: %v, behind: %v", v.current(), v.earlier, v.later)
	}
	do(key.First)
	if v.earlier || !v.later {
		t.Errorf("at the first, %d, there is more before: %v, behind: %v", v.current(), v.earlier, v.later)
	}
	do(key.Last)
	if v.later {
		t.Errorf("at the last, %d, there is more behind", v.current())
	}
}
