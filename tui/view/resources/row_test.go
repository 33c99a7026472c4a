package resources

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// alone is a view of one resource.
func alone(n *engine.Node) (*View, *treeRow) {
	v := New(chosenClient{client: "n1"})
	v.Forest = &forest{
		rows: []treeRow{{node: n}}, nodes: map[[2]string]*engine.Node{{n.Type, n.Name}: n},
		names: map[string]*shortname.Set{n.Type: shortname.New([]string{n.Name})},
	}
	return v, &v.Forest.rows[0]
}

// Whatever a resource is called and however it stands, its row is as wide as the screen.
// Where there is no version, the state has its room.
func TestRowsAreAsWide(t *testing.T) {
	scr := viewtest.Told(t, root, "effect")
	for _, n := range []engine.Node{
		{Type: "CDS", Name: "c1", State: engine.Acked, Version: "1", Seq: 5},
		{Type: "CDS", Name: "c1", State: engine.NotOverXDS},
		{Type: "CDS", Name: strings.Repeat("long-", 40), State: engine.Missing, Again: true},
		{Type: "envoy.config.Own", Name: "x", State: engine.Uncertain},
		{Type: "envoy.config.Own", Name: strings.Repeat("long-", 40), State: engine.Acked, Version: "1", Again: true},
		{Type: "EDS", Name: strings.Repeat("long-", 40), State: engine.Acked, Version: strings.Repeat("v", 90)},
	} {
		v, r := alone(&n)
		for _, w := range []int{40, 59, 60, 99, 100, 120, 160} {
			for _, told := range []bool{false, true} {
				c := resourceColumnsFor(w, told)
				l := v.rowLine(scr, r, &c)
				text := l.PlainText()
				if l.Width() != w {
					t.Errorf("%s %s in %d columns has %d: %q", n.Type, n.State, w, l.Width(), text)
				}
				if n.State == engine.NotOverXDS && strings.Contains(text, string(n.State)) != (w >= view.ShortWidth) {
					t.Errorf("in %d columns it is said that it is %q", w, text)
				}
				if strings.Contains(text, n.Type) != (len(n.Type) <= 5) {
					t.Errorf("in %d columns the type is written as in %q", w, text)
				}
				if said := strings.Contains(text, "(above)"); said && !n.Again || !said && n.Again && w >= 99 {
					t.Errorf("in %d columns it comes again: %q", w, text)
				}
			}
		}
	}
}

// That a resource stands above, too, is said where more than twenty columns are left.
func TestAgainNeedsRoom(t *testing.T) {
	scr := viewtest.Told(t, root, "effect")
	v, r := alone(&engine.Node{Type: "CDS", Name: "c1", State: engine.Acked, Again: true})
	for room, want := range map[int]bool{20: false, 21: true} {
		c := resourceColumns{state: 9, step: 3, name: room + 3 + view.TypeWidth + 1}
		if l := v.rowLine(scr, r, &c); strings.Contains(l.PlainText(), "(above)") != want {
			t.Errorf("with %d columns: %q", room, l.PlainText())
		}
	}
}

// What was sent has come at some time, even if it is not known with which response.
func TestWhetherItCame(t *testing.T) {
	scr := viewtest.Told(t, root, "effect")
	for state, came := range map[engine.ResourceState]bool{engine.Acked: true, engine.Rejected: true, engine.Missing: false, engine.NotOverXDS: false} {
		v, _ := alone(&engine.Node{Type: "CDS", Name: "c1", State: state})
		v.Win.At = 1
		text := ""
		for _, l := range v.aside(scr, 60, 30) {
			text += l.PlainText() + "\n"
		}
		if strings.Contains(text, "came") != came || !strings.Contains(text, string(state)) {
			t.Errorf("%s:\n%s", state, text)
		}
	}
}

// Why something is not folded is said: it refers to nothing, or stands above, too.
func TestWhatIsNotFolded(t *testing.T) {
	scr := viewtest.Told(t, root, "effect")
	for again, want := range map[bool]string{false: "it refers to nothing", true: "what it refers to stands where it comes first"} {
		v, r := alone(&engine.Node{Type: "CDS", Name: "c1", Again: again})
		scr.Said = nil
		if v.fold(scr, r, true); strings.Join(scr.Said, ", ") != want || v.folds != 0 {
			t.Errorf("again %t: %q", again, scr.Said)
		}
	}
}

// Where a client stands with its types fits beside the list.
func TestAsideFits(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	for i := range scr.Seen().Standing {
		v := New(chosenClient{client: scr.Seen().Standing[i].Client})
		types := 0
		for w := 48; w < 80; w++ {
			lines := v.asideClient(scr, w, 20)
			for j := range lines {
				if n := lines[j].Width(); n > w {
					t.Errorf("%d columns in a room of %d: %q", n, w, lines[j].PlainText())
				}
			}
			types = len(lines) - 3
		}
		if want := len(scr.Seen().Standing[i].Types); types != max(want, 0) && want > 0 {
			t.Errorf("%d types of %d", types, want)
		}
	}
}
