package nearest

import (
	"fmt"
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
