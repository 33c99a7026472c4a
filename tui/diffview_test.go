package tui

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

func TestDiffKeys(t *testing.T) {
	for _, tc := range []struct {
		name, session string
		seq           int
		keys          []string
		want          []string
	}{
		{"what was rejected", "demo", 48, []string{"d"}, []string{"search  CDS  4 (39, accepted) > 5 (46, rejected)", "- connect_timeout: 1s", "+ connect_timeout: 0s", "1 differs, 2 as before"}},
		{"the response itself", "demo", 46, []string{"d"}, []string{"4 (39, accepted) > 5 (46, rejected)"}},
		{"sent again", "demo", 52, []string{"d"}, []string{"- connect_timeout: 1s"}},
		{"nothing differs", "demo", 105, []string{"d"}, []string{"There is no difference"}},
		{"request", "envoy-sotw-nack", 20, []string{"d"}, []string{"messages  EDS  1 (10) > 1 (20)", "+ - broken"}},
		{"several", "demo", 70, []string{"d"}, []string{"1 of 2 that differ", "web  2 differences"}},
		{"the next one", "demo", 70, []string{"d", "n", "n"}, []string{"2 of 2 that differ"}},
		{"and back", "demo", 70, []string{"d", "n", "n", "N"}, []string{"1 of 2 that differ"}},
		{"what was removed", "demo", 72, []string{"d"}, []string{"- name: search"}},
		{"equal lines", "demo", 48, []string{"d", "k", "k", "k", "k", "space"}, []string{"@type", "name: search"}},
		{"equal lines again", "demo", 48, []string{"d", "k", "k", "k", "k", "space", "space"}, []string{"lines equal"}},
		{"older", "envoy-sotw-nack", 19, []string{"d", "{"}, []string{"nothing > 2 (16, rejected)", "1 of 2 versions", "connect_timeout: 0s"}},
		{"newer", "envoy-sotw-nack", 19, []string{"d", "{", "}"}, []string{"2 (16, rejected) > 3 (19, accepted)", "2 of 2 versions", "- connect_timeout: 0s", "+ connect_timeout: 1s"}},
		{"oldest", "envoy-sotw-nack", 19, []string{"d", "{", "{"}, []string{"this is the oldest version"}},
		{"newest", "envoy-sotw-nack", 19, []string{"d", "}"}, []string{"this is the newest version"}},
		{"no versions of messages", "envoy-sotw-nack", 20, []string{"d", "{"}, []string{"these are messages"}},
		{"nothing is marked", "demo", 48, []string{"D"}, []string{"nothing else is marked"}},
		{"the message", "demo", 48, []string{"d", "enter"}, []string{" 46 ", "[summary]"}},
		{"search", "demo", 48, []string{"d", "/", "M", "A", "G", "enter"}, []string{"match 1 of 1"}},
		{"an event", "demo", 1, []string{"d"}, []string{"1 is no message: there is nothing to compare", "[2 Timeline]"}},
		{"a client", "demo", 1, []string{"1", "d"}, []string{"> Diff"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := openAt(t, tc.session, tc.seq, 120, 30)
			d.press(tc.keys...)
			got := d.frame()
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("after %v on %d there is no %q:\n%s", tc.keys, tc.seq, want, got)
				}
			}
		})
	}
}

// TestDiffOfResource opens the versions of a resource, as the tree does.
func TestDiffOfResource(t *testing.T) {
	d := drive(t, fileSource(sessionPath("demo")), 120, 30, Options{Theme: "mono"})
	d.run(d.m.Act(key.Diff, view.Selection{Client: "demo-envoy", Type: "CDS", Name: "search"}))
	if got := d.frame(); !strings.Contains(got, "versions") || !strings.Contains(got, "search  CDS") {
		t.Errorf("a resource is shown as\n%s", got)
	}
	d.press("q")
	d.run(d.m.Act(key.Diff, view.Selection{Client: "demo-envoy", Type: "CDS", Name: "nobody"}))
	if got := d.frame(); !strings.Contains(got, "no version of it was seen") || d.m.top() != view.View(d.m.timeline) {
		t.Errorf("a resource that nobody sent is shown as\n%s", got)
	}
	d.run(d.m.Act(key.Diff, view.Selection{}))
	if got := d.frame(); !strings.Contains(got, "nothing is selected") {
		t.Errorf("nothing is compared as\n%s", got)
	}
}

// What a finding is about is what was rejected then, and not what came after.
func TestDiffOfAFinding(t *testing.T) {
	d := drive(t, fileSource(sessionPath("demo")), 100, 40, Options{Theme: "mono"})
	d.press("4", "d")
	if got := d.frame(); !strings.Contains(got, "search  CDS  4 (39, accepted) > 5 (46, rejected)") {
		t.Errorf("d on a rejection shows\n%s", got)
	}
	d.press("}")
	if got := d.frame(); !strings.Contains(got, "6 (56, accepted)") {
		t.Errorf("the version after it is not at hand:\n%s", got)
	}
}
