package tui

import (
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/xdsproxy/xdsproxy/check"
)

// Where the terminal knows links, rules lead to their page, and nothing else leads
// anywhere; where it does not, there are none. The words are the same.
func TestLinksToRules(t *testing.T) {
	link := regexp.MustCompile("\x1b]8;;([^\x1b]*)\x1b\\\\")
	rules := map[string]bool{"": true}
	for _, r := range check.Rules() {
		rules["https://github.com/xdsproxy/xdsproxy/blob/main/docs/rules.md#"+r.ID] = true
	}
	for _, size := range [][2]int{{60, 24}, {80, 24}, {120, 35}, {160, 50}} {
		for _, keys := range [][]string{{"1"}, {"2"}, {"3"}, {"4"}, {"4", "j"}, {"5"}, {":", "e", "x", "tab", "n", "a", "c", "k", "-", "r", "tab", "enter"}} {
			with := drive(t, fileSource(sessionPath("demo")), size[0], size[1], Options{Theme: "dark", Links: true})
			without := drive(t, fileSource(sessionPath("demo")), size[0], size[1], Options{Theme: "dark"})
			with.press(keys...)
			without.press(keys...)
			plain := without.frame()
			if with.frame() != plain && keys[0] != "5" {
				t.Errorf("%v at %v: links change the words", keys, size)
			}
			if link.MatchString(without.m.Frame()) {
				t.Errorf("%v at %v: there are links for a terminal that knows none", keys, size)
			}
			all := link.FindAllStringSubmatch(with.m.Frame(), -1)
			for _, l := range all {
				if !rules[l[1]] {
					t.Errorf("%v at %v: a link to %q", keys, size, l[1])
				}
			}
			if len(all) == 0 && (keys[0] == "4" || keys[0] == ":") {
				t.Errorf("%v at %v: no link in\n%s", keys, size, plain)
			}
		}
	}
	d := drive(t, fileSource(sessionPath("demo")), 80, 24, Options{Theme: "dark", Links: true})
	d.press("4")
	if _, err := d.m.setTheme("mono"); err != nil || !link.MatchString(d.m.Frame()) {
		t.Error("another theme takes the links away")
	}
	if s := ansi.Strip(d.m.Frame()); !strings.Contains(s, "nack-received") {
		t.Error(s)
	}
}
