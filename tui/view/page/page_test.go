package page

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

func TestBootstrapFrames(t *testing.T) {
	s := viewtest.Session(t, "../../..", "demo")
	got := s.Play(NewBootstrap(s), 70, 12, key.Copy, key.NextPane)
	s.Log().Proxy = &source.Proxy{Routes: []source.Route{
		{Listen: "127.0.0.1:18000", Upstream: "10.0.0.5:15010"},
		{Listen: "[::]:18001", Upstream: "istiod:15012", Secure: true, Asked: true},
	}}
	v := NewBootstrap(s)
	got += s.Play(v, 70, 10, key.Copy, key.NextPane, key.Copy, key.Form, key.PrevPane, key.PrevPane, key.PrevPane, key.PageDown, key.NextPane, key.Last)
	golden.Is(t, "testdata/bootstrap.txt", got)
	if n := len(v.Keys()); n < 5 {
		t.Errorf("%d keys", n)
	}
}

// The last is selected until somebody moves.
func TestEventFrames(t *testing.T) {
	s := viewtest.Session(t, "../../..", "demo")
	var all []widget.Paragraph
	v := NewEvents(func() []widget.Paragraph { return all })
	got := s.Play(v, 40, 5)
	for i := range 8 {
		all = append(all, widget.Paragraph{Text: fmt.Sprintf("event %d", i)})
	}
	got += s.Play(v, 40, 5)
	all = append(all, widget.Paragraph{Text: "one more"})
	got += s.Play(v, 40, 5, key.Copy, key.Up, key.Up)
	all = append(all, widget.Paragraph{Text: "and another"})
	got += s.Play(v, 40, 5, key.Last)
	all = append(all, widget.Paragraph{Text: "the end"})
	got += s.Play(v, 40, 5)
	v.Click(s, 0, 0, false)
	all = append(all, widget.Paragraph{Text: "after a click"})
	golden.Is(t, "testdata/events.txt", got+s.Play(v, 40, 5))
}

func TestRuleFrames(t *testing.T) {
	s := viewtest.Session(t, "../../..", "demo")
	asked := 0
	v := &RulePage{Rule: check.Rules()[0], Only: func() tea.Cmd { asked++; return nil }}
	got := s.Play(v, 60, 6, key.Up, key.Down, key.Down, key.PageDown, key.Last, key.Down, key.PageUp, key.First, key.Only, key.Copy)
	got += s.Play(v, 60, 100)
	got += s.Play(v, 200, 6, key.Last)
	golden.Is(t, "testdata/rule.txt", got)
	if asked != 1 || len(v.Keys()) != 2+len(key.Moves()) {
		t.Errorf("asked %d times, %d keys", asked, len(v.Keys()))
	}
}

func TestHelpFrames(t *testing.T) {
	s := viewtest.Session(t, "../../..", "demo")
	v := NewHelp(NewEvents(nil))
	got := s.Play(v, 70, 8, key.Open, key.Copy, key.NextPane, key.Form, key.NextPane, key.PrevPane, key.Down, key.Down, key.Down, key.Down, key.Down, key.Open, key.PrevPane)
	// A click selects, and a second one opens, as enter does.
	for y := range 8 {
		for _, twice := range []bool{false, true} {
			v.Click(s, 0, y, twice)
			got += fmt.Sprintf("== click %d %t: %q\n", y, twice, s.Said)
			s.Said = nil
		}
	}
	golden.Is(t, "testdata/help.txt", got)
	of := func() (out []string) {
		for _, o := range v.Keys() {
			out = append(out, string(o.Act)+":"+o.Hint)
		}
		return out
	}
	if all := strings.Join(of(), " "); strings.Contains(all, "try") {
		t.Error(all)
	}
	s.Run(v.Do(s, key.NextPane))
	if all := strings.Join(of(), " "); !strings.Contains(all, "open:try") {
		t.Error(all)
	}
	if cmd, err := v.(view.Filterable).Ask(s, "clipboard"); err != nil {
		t.Error(err)
	} else {
		s.Run(cmd)
	}
	if where := v.Where(s); !strings.HasSuffix(where, "all pages") {
		t.Error(where)
	}
}
