package nearest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	commands := []string{"run", "demo", "watch", "show", "info", "config", "version", "help"}
	for name, want := range map[string]string{
		"wtch": "watch", "wacth": "watch", "watches": "watch", "conf": "config", "Show": "show", "rnu": "run", "vers": "version",
		"x": "", "replay": "", "": "", "frobnicate": "", "watch" + strings.Repeat("h", 300): "",
	} {
		if got := Name(name, commands); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

// Names of clusters are many, long, and from outside: after some work only a
// beginning is found.
func TestWorkIsBounded(t *testing.T) {
	many := make([]string, 100_000)
	for i := range many {
		many[i] = fmt.Sprintf("%d%s%d", i%10, strings.Repeat("ab", 100), i)
	}
	name := strings.Repeat("ba", 102)
	almost := "x" + name[1:]
	if alone, last := Name(name, []string{almost}), Name(name, append(many, almost)); alone != almost || last == almost {
		t.Errorf("found %q, and after many %q", alone, last)
	}
	if got := Name(name, append(many, name+"c")); got != name+"c" {
		t.Errorf("a beginning is not found: %q", got)
	}
}

// How much a name may differ hangs on its length, and of several that are near the nearest
// is taken, of equals the first.
func TestNear(t *testing.T) {
	long := strings.Repeat("n", maxName)
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"rxn", []string{"run"}, "run"},
		{"rxx", []string{"run"}, ""},
		{"hxxp", []string{"help"}, "help"},
		{"hxxx", []string{"help"}, ""},
		{"wxxch", []string{"watch"}, "watch"},
		{"resxxxes", []string{"resources"}, ""},
		{"resxxxces", []string{"resources"}, "resources"},
		{"resxxxxes", []string{"resources"}, ""},
		{"nfig", []string{"config"}, "config"},
		{"fig", []string{"config"}, ""},
		{"configxx", []string{"config"}, "config"},
		{"configxxx", []string{"config"}, "config"},
		{"configxxxx", []string{"config"}, ""},
		{"wat", []string{"watch"}, "watch"},
		{"wa", []string{"watch"}, ""},
		{"abcd", []string{"abxy", "abcx"}, "abcx"},
		{"abcd", []string{"abcx", "abxy"}, "abcx"},
		{"abcd", []string{"abcx", "abcy"}, "abcx"},
		{long, []string{long + "s"}, long + "s"},
		{long + "n", []string{long + "ns"}, ""},
	} {
		if got := Name(c.name, c.candidates); got != c.want {
			t.Errorf("nearest(%.20q, %.20q) = %.20q, want %.20q", c.name, c.candidates, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"", "abc", 3},
		{"a", "b", 1},
		{"ab", "ba", 1},
		{"abcdef", "badcfe", 3},
		{"xab", "ba", 2},
		{"abx", "ba", 2},
		{"abc", "ca", 3}, // what was swapped stays as it is
		{"kitten", "sitting", 3},
		{"saturday", "sunday", 3},
		{"watch", "demo", 5},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := distance(pair[0], pair[1]); got != c.want {
				t.Errorf("from %q to %q it is %d, want %d", pair[0], pair[1], got, c.want)
			}
		}
	}
}

// The pairs of letters that are compared are counted, with one more letter of each name.
// What names have in common costs nothing, nor do those that are too long or too short.
func TestWorkIsCounted(t *testing.T) {
	const letters = 127 // 1<<14 pairs
	name := strings.Repeat("b", letters)
	far, near, nearer := strings.Repeat("a", letters), "x"+name[1:letters-1]+"x", "x"+name[1:]
	for n, want := range map[int]string{maxWork>>14 - 1: near, maxWork >> 14: ""} {
		if got := Name(name, append(slices.Repeat([]string{far}, n), near)); got != want {
			t.Errorf("after %d others it is %q", n, got)
		}
	}
	for what, other := range map[string]string{
		"that end otherwise":    name[:letters-4] + "aaaa",
		"that begin otherwise":  "aaaa" + name[4:],
		"that are much shorter": far[:letters/2],
		"that are much longer":  far + far,
	} {
		if got := Name(name, append(slices.Repeat([]string{other}, 2000), nearer)); got != nearer {
			t.Errorf("after names %s it is %q", what, got)
		}
	}
}
