package nearest

import (
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
