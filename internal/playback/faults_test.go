package playback

import (
	"strings"
	"testing"
	"time"
)

// What faults lead to is waited for, unless it was said how long to wait, or that is longer anyway; which is said.
func TestLinger(t *testing.T) {
	for _, c := range []struct {
		fault string
		idle  time.Duration
		given bool
		want  time.Duration
	}{
		{"drop", 19 * time.Second, false, 20 * time.Second},
		{"drop", 20 * time.Second, false, 0},
		{"drop", 21 * time.Second, false, 0},
		{"drop", 19 * time.Second, true, 0},
		{"cut", time.Second, false, 0},
		{"", time.Second, false, 0},
	} {
		p := play(t, "server", "unix:none")
		p.Options.Idle, p.IdleGiven = c.idle, c.given
		if c.fault != "" {
			p.Faults = []string{c.fault}
		}
		if err := p.parseFaults(); err != nil || p.Options.Linger != c.want {
			t.Errorf("%+v: %v, %v", c, p.Options.Linger, err)
		}
		p.announceLinger()
		if said := p.said.String(); strings.Contains(said, "ends after 20s without a message") != (c.want > 0) || c.want == 0 && said != "" {
			t.Errorf("%+v: %q is said", c, said)
		}
	}
}
