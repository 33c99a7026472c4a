package recorder

import (
	"strings"
	"testing"
	"time"
)

// However a clock is set, the time of a recording goes on.
func TestClockIsSet(t *testing.T) {
	const second, hour = time.Second, time.Hour
	for name, steps := range map[string][]struct {
		later, passed time.Duration // by the wall clock, and in truth
		now           time.Duration // of the recording since the last step
		note          string
	}{
		"not":               {{second, second, second, ""}},
		"forward":           {{hour + second, second, hour + second, "forward by 1h0m0s"}, {second, second, second, ""}},
		"back":              {{second - hour, second, second, "back by 1h0m0s"}, {second, second, second, ""}},
		"back and forward":  {{-hour, 0, 0, "back by 1h0m0s"}, {hour + second, second, second, "forward by 1h0m0s"}},
		"forward and back":  {{hour, 0, hour, "forward by 1h0m0s"}, {second - hour, second, second, "back by 1h0m0s"}},
		"forward too far":   {{-hour, 0, 0, "back by 1h0m0s"}, {3 * hour, 0, 2 * hour, "forward by 3h0m0s"}},
		"twice back":        {{-hour, 0, 0, "back by 1h0m0s"}, {-hour, 0, 0, "back by 1h0m0s"}, {second, second, second, ""}},
		"a little":          {{second + second/2, second, second + second/2, ""}},
		"drift over a week": {{7*24*hour + 5*60*second, 7 * 24 * hour, 7*24*hour + 5*60*second, ""}},
	} {
		var c clock
		wall := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
		last := c.tell(wall)
		for i, s := range steps {
			wall = wall.Add(s.later)
			c.pass(s.later, s.passed)
			c.read = wall // tell has nothing to add
			now := c.tell(wall)
			if got := now.Sub(last); got != s.now {
				t.Errorf("%s: after step %d it is %v later, not %v", name, i, got, s.now)
			}
			last = now
			text := ""
			if n := c.note(); n != nil {
				text = n.Text
			}
			if (text == "") != (s.note == "") || !strings.Contains(text, s.note) {
				t.Errorf("%s: the note of step %d is %q, not %q", name, i, text, s.note)
			}
		}
	}
}
