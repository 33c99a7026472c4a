package clients

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const asideRoot = "../../.."

// The row of a client, and those of its types, fit a narrow pane. What program the client
// is stands there where its name has room beside it.
func TestShortRowsFit(t *testing.T) {
	for _, name := range []string{"aggregated", "delta", "effect"} {
		scr := viewtest.Told(t, asideRoot, name)
		v := New()
		for i := range scr.Seen().Standing {
			v.At = scr.Seen().Standing[i].Client
			v.fold(true)
		}
		for w := 34; w < view.ShortWidth; w++ {
			lines := v.Draw(scr, w, 40)
			for i := range lines {
				if n := lines[i].Width(); n > w {
					t.Errorf("%s: %d columns in a room of %d: %q", name, n, w, lines[i].PlainText())
				}
			}
		}
	}
	scr := viewtest.Script(t, "C> type=CDS V= N= R=[] node=n1 ua=prog/1.0\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n")
	for w, want := range map[int]bool{34: false, 35: true, 59: true} {
		lines := New().Draw(scr, w, 5)
		if got := lines[0].PlainText(); strings.Contains(got, "prog") != want {
			t.Errorf("in %d columns: %q", w, got)
		}
	}
}

// Where a type of a client is not there any more, the client stays selected.
func TestTypeThatIsGone(t *testing.T) {
	scr := viewtest.Told(t, asideRoot, "effect")
	for i := range scr.Seen().Standing {
		v := New()
		v.At, v.Typ = scr.Seen().Standing[i].Client, "no such type"
		rows := v.settle(scr)
		if got := rows[v.win.At].of.Client; got != v.At {
			t.Errorf("%s is selected, not %s", got, v.At)
		}
	}
}
