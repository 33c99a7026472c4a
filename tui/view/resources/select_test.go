package resources

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// A resource that is asked for is selected when it is there, and the selection stays
// where it is if it never comes.
func TestSelect(t *testing.T) {
	scr := viewtest.Told(t, root, "effect")
	v := New(chosenClient{client: "n1"})
	v.Select("CDS", "c1")
	for _, tc := range []struct{ typ, name, want string }{{"", "", "CDS c1"}, {"CDS", "c5", "CDS c5"}, {"EDS", "c5", "CDS c5"}, {"LDS", "l1", "LDS l1"}, {"RDS", "r1", "RDS r1"}} {
		v.Select(tc.typ, tc.name)
		if tc.typ == "" {
			v.Select("CDS", "c1")
		}
		scr.Frame(v, 80, 24)
		if got := v.Selected(scr); got.Type+" "+got.Name != tc.want || got.Client != "n1" || v.sought[1] != "" {
			t.Errorf("%s %s is asked for, and %+v is selected", tc.typ, tc.name, got)
		}
	}
	// Other rows come before it: it stays selected.
	v.Select("CDS", "c5")
	scr.Frame(v, 80, 24)
	scr.Play(v, 80, 24, key.Form)
	if got := v.Selected(scr); got.Name == "" {
		t.Errorf("%+v is selected in the list by type", got)
	}
	scr.Ask(v, "c5")
	if got := v.Selected(scr); got.Name != "c5" {
		t.Errorf("%+v is selected among those with its name", got)
	}
}

// later is a screen at another time.
type later struct {
	*viewtest.Screen
	by time.Duration
}

func (l later) Now() time.Time { return l.Screen.Now().Add(l.by) }

// What a client has is asked for again when the log has grown, but not at once. What is
// known is enough to show another part of it.
func TestTreeIsAskedForAgain(t *testing.T) {
	scr := viewtest.Told(t, root, "effect")
	v := New(chosenClient{client: "n1"})
	scr.Frame(v, 80, 24)
	first := v.Forest.Tree
	if v.Tick(scr) != nil {
		t.Error("nothing has changed")
	}
	scr.Seen().Generation++
	if v.Tick(scr) != nil {
		t.Error("it was asked for a moment ago")
	}
	v.words = "c1"
	if scr.Run(v.Tick(scr)); v.Forest.Tree != first || v.Forest.query.Words != "c1" {
		t.Errorf("another tree is shown, with the words %q", v.Forest.query.Words)
	}
	at := later{scr, time.Hour}
	cmd := v.Tick(at)
	if cmd == nil {
		t.Fatal("it is not asked for again")
	}
	if scr.Run(cmd); v.Forest.Tree == first || v.Asked.generation != scr.Seen().Generation {
		t.Error("it is as it was")
	}
	if v.Tick(at) != nil {
		t.Error("nothing has changed since")
	}
	// One that took long is asked for less often.
	v.took = time.Hour
	scr.Seen().Generation++
	for by, again := range map[time.Duration]bool{5*time.Hour - time.Nanosecond: false, 5 * time.Hour: true} {
		w := *v
		if (w.Tick(later{scr, by}) != nil) != again {
			t.Errorf("after %v it is asked for again: %t", by-time.Hour, !again)
		}
	}
}

// Of many resources so many are listed, and how many more there are.
func TestReferences(t *testing.T) {
	scr := viewtest.Told(t, root, "effect")
	v := New(chosenClient{client: "n1"})
	v.Forest = &forest{names: map[string]*shortname.Set{}}
	for _, tc := range []struct {
		n, room int
		want    string
	}{{3, 3, "c0 c1 c2"}, {4, 3, "c0 c1 and 2 more"}, {3, 9, "c0 c1 c2"}, {3, 1, "and 3 more"}, {1, 1, "c0"}, {0, 1, ""}} {
		var list []*engine.Node
		var names []string
		for i := range tc.n {
			names = append(names, fmt.Sprint("c", i))
			list = append(list, &engine.Node{Type: "CDS", Name: names[i], State: engine.Acked})
		}
		v.Forest.names["CDS"] = shortname.New(names)
		var got []string
		for _, l := range v.references(scr, list, 80, tc.room) {
			text, _ := strings.CutPrefix(strings.TrimSpace(l.PlainText()), "CDS")
			text, _ = strings.CutSuffix(text, "ACKED")
			got = append(got, strings.TrimSpace(text))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%d in %d lines: %q, not %s", tc.n, tc.room, got, tc.want)
		}
	}
}

// From one client the key leads to the next one in the list, around its end.
func TestNextClient(t *testing.T) {
	const first = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n"
	for text, want := range map[string]string{first: "n1 n1", first + "-- stream 2\n" + strings.ReplaceAll(first, "n1", "n2"): "n2 n1"} {
		scr := viewtest.Script(t, text)
		v := New(chosenClient{client: "n1"})
		scr.Frame(v, 80, 24)
		var got []string
		for range 2 {
			scr.Run(v.Do(scr, key.Resources))
			got = append(got, v.Of(scr))
		}
		if said := strings.Join(scr.Said, ", "); strings.Join(got, " ") != want || strings.Contains(said, "no other client") != (want == "n1 n1") {
			t.Errorf("it leads to %s, said %s", got, said)
		}
	}
}

// A click means the row that is there.
func TestClickMeansTheRowThatIsThere(t *testing.T) {
	scr := viewtest.Told(t, root, "effect")
	v := New(chosenClient{client: "n1"})
	for _, h := range []int{24, 6} { // a list that fits, and one that is moved
		scr.Frame(v, 80, h)
		for y := v.titles; y < min(h, v.titles+len(v.Rows())); y++ {
			scr.Run(v.Click(scr, 0, y, false))
			top := v.Win.Top
			lines := v.Draw(scr, 80, h)
			if v.Win.Top == top && !lines[y].Selected {
				t.Errorf("in %d lines a click on line %d selects another", h, y)
			}
		}
	}
}
