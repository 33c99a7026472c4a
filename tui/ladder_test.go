package tui

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

func TestLadderKeys(t *testing.T) {
	for _, tc := range []struct {
		name string
		keys []string
		want string
		at   session.Seq
	}{
		{"opens at the selection", nil, "> Ladder", 17},
		{"down skips to what was found", []string{"j"}, "nack-received", 17},
		{"up", []string{"k"}, "nack-received version", 16},
		{"pair", []string{"p"}, "nack-received version", 16},
		{"opens", []string{"k", "enter"}, "> Ladder > Message", 16},
		{"back", []string{"L"}, "[2 Timeline]  3", 0},
		{"first", []string{"g", "j"}, "enter opens 1", 1},
		{"last", []string{"G"}, "enter opens 38", 38},
		{"next finding", []string{"g", "!"}, "nack-received version", 17},
		{"no more findings", []string{"G", "!"}, "no rule found anything further down", 38},
		{"search", []string{"/", "g", "o", "n", "e", "enter"}, "enter opens 38", 38},
		{"diff", []string{"d"}, "> Ladder > Diff", 16},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := openAt(t, "envoy-sotw-nack", 17, 100, 40)
			d.press("L")
			d.press(tc.keys...)
			if got := d.frame(); !strings.Contains(got, tc.want) {
				t.Errorf("after %v there is no %q:\n%s", tc.keys, tc.want, got)
			}
			if s, is := d.m.top().(view.Subject); is && tc.at != 0 && s.Selected(d.m).Seq != tc.at {
				t.Errorf("after %v %d is selected", tc.keys, s.Selected(d.m).Seq)
			}
		})
	}
}

func TestLadderOfClient(t *testing.T) {
	d := drive(t, fileSource(sessionPath("demo")), 100, 40, Options{Theme: "mono"})
	d.press("1")
	d.run(d.m.Act(key.Ladder, view.Selection{Client: "demo-grpc"}))
	got := d.frame()
	if !strings.Contains(got, "demo-grpc") || strings.Contains(got, "demo-envoy") {
		t.Errorf("the ladder of a client is\n%s", got)
	}
	d.press("L")
	d.run(d.m.Act(key.Ladder, view.Selection{}))
	if got := d.frame(); !strings.Contains(got, "nothing is selected") {
		t.Errorf("a ladder of nothing is\n%s", got)
	}
}
