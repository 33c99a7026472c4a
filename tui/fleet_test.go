package tui

import (
	"os"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/index"
)

// storySource is a recording of a story of the rules.
func storySource(t *testing.T, name string) Source {
	t.Helper()
	text, err := os.ReadFile("../check/testdata/stories/" + name + ".xds")
	if err != nil {
		t.Fatal(err)
	}
	return played(t, string(text))
}

// One cause on twenty clients is one row, which can be told from others and is
// silenced and filtered as one.
func TestViolationsOfAFleet(t *testing.T) {
	src := storySource(t, "nack-received-fleet-of-one-cause")
	for name, tc := range map[string]struct {
		keys   []string
		wanted []string
	}{
		"one row":               {[]string{"4"}, []string{"   1 violation", "> ~ nack-received                20 clients   CDS  c1                24 ", "1 of 1", " on      20 clients: gw-1, gw-2, gw-3,", "and 12", "24 times, from"}},
		"by any of its clients": {append([]string{"4", "/"}, keysTyped("gw-17")...), []string{"> ~ nack-received", "1 of 1"}},
		"by nobody else":        {append([]string{"4", "/"}, keysTyped("gw-21")...), []string{"No finding has these words."}},
		"not":                   {[]string{"4", "-", "enter"}, []string{"No finding has these words."}},
		"silence":               {append([]string{"4", ":"}, keysTyped("silence")...), []string{"nack-received known"}},
		"silence holds":         {append(append([]string{"4", ":"}, keysTyped("silence")...), "2", "!"), []string{"no rule has found anything of weight"}},
		"enter":                 {[]string{"4", "enter"}, []string{"seq:5,6,140"}},
		"what another proved":   {[]string{"2", "!", "enter"}, []string{"nack-received"}},
		"the rule's page":       {append([]string{"4", ":"}, keysTyped("explain")...), []string{"here: 1 finding"}},
	} {
		d := drive(t, src, 80, 24, Options{Theme: "mono"})
		d.press(tc.keys...)
		got := d.frame()
		for _, w := range tc.wanted {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q in\n%s", name, w, got)
			}
		}
	}
	d := drive(t, src, 40, 20, Options{Theme: "mono"})
	d.press("4")
	if got := d.frame(); !strings.Contains(got, "20 clients x24") {
		t.Errorf("narrow:\n%s", got)
	}
	d = drive(t, storySource(t, "nack-received-fleet-of-many-causes"), 80, 24, Options{Theme: "mono"})
	d.press("4")
	if got := d.frame(); !strings.Contains(got, "20 violations") || !strings.Contains(got, "1 of 20") {
		t.Errorf("twenty causes:\n%s", got)
	}
}

// A note in the log that was about what one client had silences it on all.
func TestSilenceOfAFleet(t *testing.T) {
	d := drive(t, storySource(t, "nack-received-fleet-of-one-cause"), 80, 24, Options{Theme: "mono"})
	for _, f := range d.m.seen.Folded {
		for client, want := range map[string]bool{"gw-7": true, "gw-21": false} {
			note := index.Silence{Rule: f.Rule.ID, About: f.LastSeq - 9, Client: client, Type: f.Type}
			if got := index.Silenced(&f, []index.Silence{note}); got != want {
				t.Errorf("known by a note about %s: %v", client, got)
			}
		}
	}
}
