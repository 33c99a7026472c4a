package wrap

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xdstest/terminal"
)

// placeVariable tells the test program where it runs, for one test.
const placeVariable = "XDSPROXY_WRAP_TEST_PLACE"

// A terminal sends some signals to all that is in its foreground. In the background, and
// without a terminal, whoever sent one sent it to this process.
func TestSentByTerminal(t *testing.T) {
	if os.Getenv(placeVariable) != "" {
		for _, s := range passedSignals() {
			fmt.Printf("%s: %t\n", s, sentByTerminal(s))
		}
		return
	}
	for place, c := range map[string]struct {
		attr syscall.SysProcAttr
		sent string // those that a terminal sends
	}{
		"the foreground": {syscall.SysProcAttr{Setsid: true, Setctty: true}, "interrupt quit hangup window changed"},
		"the background": {syscall.SysProcAttr{Setsid: true, Setctty: true}, ""},
		"no terminal":    {syscall.SysProcAttr{Setsid: true}, ""},
	} {
		_, near := terminal.Pair(t) // which the end of its session hangs up
		argv := []string{os.Args[0], "-test.run=^TestSentByTerminal$"}
		if place == "the background" { // which a shell with job control makes
			argv = []string{"sh", "-mc", `"$@" & wait`, "sh", argv[0], argv[1]}
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), placeVariable+"="+place)
		cmd.Stdin, cmd.SysProcAttr = near, &c.attr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v, %s", place, err, out)
		}
		for _, s := range passedSignals() {
			if line := fmt.Sprintf("%s: %t\n", s, strings.Contains(c.sent, s.String())); !strings.Contains(string(out), line) {
				t.Errorf("%s: no %q in\n%s", place, line, out)
			}
		}
	}
}
