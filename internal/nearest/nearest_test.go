package nearest

import (
	"fmt"
	"strings"
	"testing"
	"time"
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

// Names of clusters are many, long, and from outside.
func TestWorkIsBounded(t *testing.T) {
	many := make([]string, 100_000)
	for i := range many {
		many[i] = fmt.Sprintf("%d%s%d", i%10, strings.Repeat("ab", 100), i)
	}
	name := strings.Repeat("ba", 102)
	began := time.Now()
	Name(name, many)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if got := Name(name, append(many, name+"c")); got != name+"c" {
		t.Errorf("a beginning is not found: %q", got)
	}
}
