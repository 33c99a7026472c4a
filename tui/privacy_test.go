package tui

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/tui/alias"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/page"
)

// While privacy is on, no view shows the name of a client or of a resource, nor
// an address, and every alias stays.
func TestPrivacyHidesNames(t *testing.T) {
	paths, err := filepath.Glob(sessionPath("*"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d sessions: %v", len(paths), err)
	}
	address := regexp.MustCompile(`\b(10|172|192)\.\d+\.\d+\.\d+\b`)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			d := drive(t, fileSource(path), 160, 50, Options{Theme: "mono"})
			names := namesIn(d)
			d.press("P")
			for _, key := range []string{
				"1", "space", "2", "c", "c", "enter", "v", "v", "v", "q", "d", "q", "L", "q", "Y", "q", "G", "enter", "v", "v", "d", "q", "q",
				"3", "enter", "q", "4", "enter", "4", "5", "E", "?", "b",
			} {
				d.press(key)
				frame := d.frame()
				if !strings.Contains(frame, "PRIVATE") {
					t.Fatalf("the header does not say so:\n%s", frame)
				}
				for _, name := range names {
					if wordIn(frame, name) {
						t.Errorf("%s: %q is on the screen:\n%s", key, name, frame)
					}
				}
				if found := address.FindString(frame); found != "" {
					t.Errorf("%s: the address %s is on the screen:\n%s", key, found, frame)
				}
			}
			before := d.m.aliases.Of
			kept := fmt.Sprint(before)
			d.press("P", "2", "P")
			if fmt.Sprint(d.m.aliases.Of) != kept {
				t.Error("aliases have changed")
			}
		})
	}
}

// Where names were left out of what is kept, the screen shows no text that may have one,
// and says so.
func TestPrivacyWithTooManyNames(t *testing.T) {
	d := drive(t, fileSource(sessionPath("demo")), 160, 50, Options{Theme: "mono"})
	names := namesIn(d)
	d.press("P")
	d.m.aliases.Read = func(uint64) (map[string][]string, uint64, bool) { return nil, 0, false }
	d.press("2")
	if frame := d.frame(); !strings.Contains(frame, "there are too many names to keep: texts are (hidden)") {
		t.Errorf("nothing is said:\n%s", frame)
	}
	for _, key := range []string{"enter", "v", "q", "3", "1"} {
		d.press(key)
		for _, name := range names {
			if frame := d.frame(); wordIn(frame, name) {
				t.Errorf("%s: %q is on the screen:\n%s", key, name, frame)
			}
		}
	}
}

// namesIn are the names of a session that the screen must not show: but for
// those that are words of the screen, and of help, as well.
func namesIn(d *driver) []string {
	var out []string
	own := fmt.Sprint(page.WordPage(), page.FilterPage(), key.All(), d.m.commands(), check.Rules())
	add := func(name string) {
		if len(name) > 2 && !wordIn(own, name) {
			out = append(out, name)
		}
	}
	var walk func(nodes []*engine.Node)
	walk = func(nodes []*engine.Node) {
		for _, n := range nodes {
			add(n.Name)
			walk(n.Children)
		}
	}
	for _, c := range d.m.seen.Standing {
		add(c.Client)
		if tree := d.m.log.Feed.Tree(c.Client); tree != nil {
			walk(tree.Roots)
			walk(tree.Dangling)
			walk(tree.Missing)
		}
	}
	return out
}

// wordIn says whether a text has a name as a word of its own.
func wordIn(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(name)
		before := i > 0 && alias.WordByte(text[i-1]) && alias.WordByte(name[0])
		after := end < len(text) && alias.WordByte(text[end]) && alias.WordByte(name[len(name)-1])
		if !before && !after {
			return true
		}
		at = i + 1
	}
}
