package bootstrap

import (
	"strings"
	"testing"
)

// A path stands where a command has {} for it: alone or as the value of a flag, and never for the command itself.
func TestFill(t *testing.T) {
	for command, want := range map[string]string{
		"envoy -c {}":                         "envoy -c /b",
		"envoy --config-path={} -c={} -- {}":  "envoy --config-path=/b -c=/b -- /b",
		"{} --x={}":                           "{} --x=/b",
		"client BOOTSTRAP={} -c{} -j={}} {}x": "client BOOTSTRAP={} -c{} -j={}} {}x",
		"{}":                                  "{}",
		"":                                    "",
	} {
		argv := strings.Fields(command)
		if Fill(argv, "/b"); strings.Join(argv, " ") != want {
			t.Errorf("%q: %q, want %q", command, argv, want)
		}
	}
}
