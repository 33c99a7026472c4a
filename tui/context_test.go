package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/detail"
)

// Whatever row of the timeline is selected, the panes beside it are about its
// client, and the keys that lead to them lead there.
func TestPanesFollowTheSelection(t *testing.T) {
	d := drive(t, fileSource(sessionPath("demo")), 160, 50, Options{Theme: "mono"})
	d.press("g")
	clients, found := map[string]bool{}, 0
	for range d.m.log.Index.Len() {
		s := d.m.timeline.Selected(d.m)
		if slices.Contains(d.m.seen.Clients(), s.Client) {
			clients[s.Client] = true
			if got := d.m.resources.Of(d.m); got != s.Client {
				t.Fatalf("entry %d is of %s, and the resources are of %s", s.Seq, s.Client, got)
			}
			if got := d.frame(); !strings.Contains(got, "> "+s.Client+"  ACKED") {
				t.Fatalf("the resources of %s are not beside its entry %d:\n%s", s.Client, s.Seq, got)
			}
			if got := d.m.clients.Selected(d.m).Client; got != s.Client {
				t.Errorf("entry %d is of %s, and %s is selected in Clients", s.Seq, s.Client, got)
			}
		}
		if d.m.seen.Finding(s.Seq) != nil {
			found++
			if f := d.m.violations.Finding(); f == nil || f.LastSeq != s.Seq && !slices.Contains(f.Seqs, s.Seq) {
				t.Errorf("what rules found with %d is not selected in Violations", s.Seq)
			}
		}
		d.press("j")
	}
	if len(clients) < 3 || found == 0 {
		t.Fatalf("the session has entries of %v, and %d that prove something", clients, found)
	}
}

func TestOtherViewsAreAboutTheSelection(t *testing.T) {
	for _, c := range []struct {
		seq  int
		keys []string
	}{{2, nil}, {46, nil}, {46, []string{"enter"}}, {46, []string{"enter", "d"}}, {30, nil}, {30, []string{"L"}}} {
		for _, size := range sizes() {
			d := openAt(t, "demo", c.seq, size[0], size[1])
			want := d.m.timeline.Selected(d.m).Client
			d.press(c.keys...)
			d.press("3")
			if got := d.m.resources.Of(d.m); got != want || d.m.tab != 2 {
				t.Errorf("3 after %v on %d shows %s, not %s", c.keys, c.seq, got, want)
			}
			d.press("1")
			if got := d.m.clients.Selected(d.m).Client; got != want {
				t.Errorf("1 after that selects %s, not %s", got, want)
			}
		}
	}
	d := drive(t, fileSource(sessionPath("demo")), 80, 24, Options{Theme: "mono"})
	d.press("4")
	f := d.m.violations.Selected(d.m)
	d.press("3")
	if got := d.m.resources.Selected(d.m); got.Client != f.Client || got.Type != f.Type || got.Name != f.Name {
		t.Errorf("from a finding about %s %s of %s, 3 leads to %s %s of %s", f.Type, f.Name, f.Client, got.Type, got.Name, got.Client)
	}
}

// enter on a resource leads to the place where it stands in the message, in
// every form; d in the message begins with what changed in it.
func TestMessageOpensAtTheResource(t *testing.T) {
	for _, seq := range []int{46, 70, 100} {
		d := openAt(t, "demo", seq, 80, 24)
		d.press("3")
		rows := d.m.resources.Rows()
		for i := range rows {
			d.m.resources.Win.At = i + 1
			s := d.m.resources.Selected(d.m)
			if s.Name == "" || s.Seq == 0 {
				continue
			}
			d.press("enter")
			v, is := d.m.top().(*detail.View)
			if !is {
				t.Fatalf("%s opens %s", s.Name, d.m.top().Title())
			}
			for _, form := range []string{"summary", "yaml", "json"} {
				d.frame()
				l := &v.Pane.Lines[max(v.Pane.Current(), 0)]
				if l.Value != s.Name {
					t.Errorf("%s %s of %d in %s: the cursor is on %q", s.Type, s.Name, s.Seq, form, l.PlainText())
				}
				d.press("v")
			}
			d.press("q")
		}
	}
	d := openAt(t, "demo", 70, 120, 35)
	d.press("enter", "/")
	d.press(keysTyped("web")...)
	d.press("d")
	if got := d.frame(); !strings.Contains(got, "2 of 2 that differ") || d.m.top().(view.Subject).Selected(d.m).Name != "web" {
		t.Errorf("d on web shows\n%s", got)
	}
}
