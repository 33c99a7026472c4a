package tui

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/view"
)

// foretold is what the line below a prompt says that a filter would do.
func foretold(d *driver) (shown, of int) {
	d.tb.Helper()
	frame := d.frame()
	if m := regexp.MustCompile(`shows ([\d,]+), hides ([\d,]+)`).FindStringSubmatch(frame); m != nil {
		a, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		b, _ := strconv.Atoi(strings.ReplaceAll(m[2], ",", ""))
		return a, a + b
	}
	if m := regexp.MustCompile(`shows all ([\d,]+)`).FindStringSubmatch(frame); m != nil {
		a, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		return a, a
	}
	d.tb.Fatalf("the prompt does not say what it would show:\n%s", frame)
	return 0, 0
}

// What a filter would show is said before it is taken, and is what it shows then:
// by any field, in any list, and where the messages themselves must be read.
func TestFilterIsForetold(t *testing.T) {
	rows := func(d *driver) int {
		w := d.m.top().(interface{ Where(view.Screen) string }).Where(d.m)
		m := regexp.MustCompile(`of ([\d,]+)|^(\d+) lines`).FindStringSubmatch(w)
		if m == nil {
			t.Fatalf("the place is %q", w)
		}
		n, _ := strconv.Atoi(m[1] + m[2])
		return n
	}
	for _, c := range []struct {
		name, session string
		keys          []string
		tabs          int
	}{
		{"timeline", "demo", []string{"2", ":", "4", "6", "enter"}, 6},
		{"message", "demo", []string{"2", ":", "4", "6", "enter", "enter", "j", "j"}, 3},
		{"yaml", "demo", []string{"2", ":", "4", "6", "enter", "enter", "v", "j", "j", "j"}, 3},
		{"violations", "demo", []string{"4"}, 1},
		{"clients", "demo", []string{"1"}, 0},
		{"resource", "envoy-sotw-nack", []string{"3", "j", "j"}, 2},
		{"stats", "envoy-sotw-nack", []string{"5"}, 2},
	} {
		for _, sign := range []string{"+", "-"} {
			for tabs := range c.tabs + 1 {
				if sign == "-" && (c.name == "resource" || c.name == "stats") {
					continue
				}
				name := fmt.Sprintf("%s %s, tab %d", c.name, sign, tabs)
				src := fileSource(sessionPath(c.session))
				src.NoFold = true // entries are foretold, however many lines they have
				d := drive(t, src, 80, 24, Options{Theme: "mono"})
				d.press(c.keys...)
				d.press(sign)
				if d.m.prompt == nil {
					t.Fatalf("%s: nothing is asked:\n%s", name, d.frame())
				}
				for range tabs {
					d.press("tab")
				}
				text := d.m.prompt.Value()
				shown, of := foretold(d)
				d.press("enter")
				if got := rows(d); got != shown {
					t.Errorf("%s, %s: it was said to show %d, and shows %d", name, text, shown, got)
				}
				f := d.m.top().(view.Filterable)
				if f.Query() != text || shown > of {
					t.Errorf("%s: %q is set in place of %q (%d of %d)", name, f.Query(), text, shown, of)
				}
			}
		}
	}
}

// The field under the cursor comes first.
func TestFilterIsOfTheFieldUnderTheCursor(t *testing.T) {
	d := openAt(t, "demo", 46, 80, 24)
	d.press("enter", "/")
	for _, k := range keysTyped("version_info") {
		d.press(k)
	}
	d.press("+")
	if got := d.m.prompt.Value(); got != "version:5" {
		t.Errorf("on the version it asks for %q", got)
	}
	d.press("esc", "/")
	d.press("backspace")
	for range 20 {
		d.press("backspace")
	}
	for _, k := range keysTyped("payments") {
		d.press(k)
	}
	d.press("-")
	if got := d.m.prompt.Value(); got != "-name:payments" {
		t.Errorf("on a resource it asks for %q", got)
	}
	d.press("esc")
	if d.m.timeline.Query() != "" || d.m.top().Title() != "Message" {
		t.Error("what was given up was done")
	}
}

// A filter that is given up reads no further.
func TestFilterThatIsGivenUp(t *testing.T) {
	d := openAt(t, "demo", 46, 80, 24)
	d.press("/")
	for _, r := range "text:payments" {
		d.press(string(r))
	}
	foretold(d)
	d.press("esc")
	if said, _ := d.m.timeline.Preview(d.m, ""); !strings.HasPrefix(said, "shows all") || d.m.timeline.Query() != "" {
		t.Errorf("after esc: %q, filter %q", said, d.m.timeline.Query())
	}
}

// Names that are hidden stay so while a filter of them is offered.
func TestOfferedFilterIsPrivate(t *testing.T) {
	d := openAt(t, "demo", 46, 80, 24)
	d.press("P", "+")
	if got := d.frame(); strings.Contains(got, "demo-envoy") || !strings.Contains(got, "/client:") {
		t.Errorf("the prompt tells a name:\n%s", got)
	}
}
