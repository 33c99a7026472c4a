package tui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Where a time has eight columns it has its seconds, and nothing else.
func TestTimesInEightColumns(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 60, 20, Options{Theme: "mono"})
	d.press("2")
	for _, form := range []*regexp.Regexp{regexp.MustCompile(` \d\d:\d\d:\d\d `), regexp.MustCompile(` \+\d+\.\d\d\d `), regexp.MustCompile(` \+\d+\.\d\d\d `)} {
		frame := d.frame()
		rows := strings.Split(frame, "\n")[3:10]
		for _, r := range rows {
			if !form.MatchString(r) {
				t.Errorf("%s does not fit %q in\n%s", form, r, frame)
			}
		}
		d.press("t")
	}
}

// A warning is not as red as an error.
func TestHeadingsOfWarnings(t *testing.T) {
	for _, c := range []struct {
		severity check.Severity
		look     widget.Role
	}{{check.Warning, widget.Warned}, {check.Error, widget.Bad}} {
		d := drive(t, storySource(t, "nack-received-fleet-of-one-cause"), 160, 50, Options{Theme: "mono"})
		for i := range d.m.seen.Folded {
			d.m.seen.Folded[i].Severity = c.severity
		}
		d.press("2")
		for i := range d.m.seen.Folded {
			d.m.seen.Folded[i].Severity = c.severity
		}
		panes := d.m.layout(d.m.bodyRows())
		if got := panes[len(panes)-1].look; got != c.look {
			t.Errorf("%s: the pane's heading is in role %d", c.severity, got)
		}
		if got := roleOf(t, d.m.header(), "violation"); got != c.look {
			t.Errorf("%s: the header is in role %d", c.severity, got)
		}
	}
	d := drive(t, storySource(t, "nack-received-fleet-of-one-cause"), 80, 24, Options{Theme: "mono"})
	d.press("4")
	f := d.m.violations.Finding()
	if f == nil || f.Severity != check.Warning {
		t.Fatalf("the story has %v", f)
	}
	for _, l := range d.m.lines() {
		if text := l.PlainText(); strings.HasPrefix(text, "─ ") && roleOf(t, l, f.Rule.ID) != widget.Warned {
			t.Errorf("%q is not in the colour of a warning", text)
		}
	}
}

func roleOf(t *testing.T, l widget.Line, text string) widget.Role {
	t.Helper()
	for _, s := range l.Spans {
		if strings.Contains(s.Text, text) {
			return s.Role
		}
	}
	t.Fatalf("no %q in %q", text, l.PlainText())
	return 0
}

// What there was before anybody looked is not new, nor what a filter lets through.
func TestNothingIsNewAtFirst(t *testing.T) {
	src := storySource(t, "nack-received-fleet-of-one-cause")
	src.Live = true
	for _, keys := range [][]string{{"4", "enter"}, {"!"}, {"2", "k"}, {"2", "k", "i"}, {"1", "enter"}} {
		d := drive(t, src, 80, 24, Options{Theme: "mono"})
		d.press(keys...)
		if got := d.frame(); d.m.tab != 1 || strings.Contains(got, " new, ") {
			t.Errorf("%v:\n%s", keys, got)
		}
	}
}

// Who has not moved sees the worst at the top. Who has chosen a client stays with
// it, and g is at the top again.
func TestCursorAndTheWorstFirst(t *testing.T) {
	names := make([]string, 60)
	for i := range names {
		names[i] = fmt.Sprintf("client-%02d", i)
	}
	d := drive(t, played(t, clientsCalled(names)), 80, 24, Options{Theme: "mono"})
	selected := func() (string, int) {
		_ = d.m.clients.Draw(d.m, 80, 18)
		s := d.m.clients.Selected(d.m).Client
		for i, l := range d.m.clients.Draw(d.m, 80, 18) {
			if l.Selected {
				return s, i
			}
		}
		t.Fatal("nothing is selected")
		return "", 0
	}
	// worse is what the checker says when another one has rejected something.
	worse := func(client string) {
		standing := append([]engine.ClientStatus(nil), d.m.seen.Standing...)
		for i := range standing {
			if standing[i].Client == client {
				c := standing[i]
				c.Types = append([]engine.TypeStatus(nil), c.Types...)
				c.Types[0].State = engine.Nacked
				copy(standing[1:i+1], standing[:i])
				standing[0] = c
			}
		}
		d.m.seen.Standing = standing
		_ = d.m.tickAll()
	}
	d.press("1", "g") // at the client of the timeline before
	worse("client-40")
	if s, row := selected(); s != "client-40" || row != 1 {
		t.Errorf("untouched, it is at %s in row %d", s, row)
	}
	d.press("j")
	chosen, _ := selected()
	worse("client-41")
	worse("client-42")
	if s, row := selected(); s != chosen || row != 4 {
		t.Errorf("%s was chosen, and it is at %s in row %d", chosen, s, row)
	}
	d.press("g")
	worse("client-43")
	if s, row := selected(); s != "client-43" || row != 1 {
		t.Errorf("after g it is at %s in row %d", s, row)
	}
}
