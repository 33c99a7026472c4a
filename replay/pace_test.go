package replay

import (
	"testing"
	"time"
)

// A pace says when the step is said that came 8 s after the first of its stream.
func TestPaces(t *testing.T) {
	s := &Stream{Steps: []Step{{At: 1e9}, {At: 9e9}}}
	for text, want := range map[string]struct {
		due   time.Duration
		steps bool
	}{
		"cause": {0, false}, "step": {0, true}, "recorded": {8 * time.Second, false}, "x1": {8 * time.Second, false}, "x4": {2 * time.Second, false},
		"x0.001": {8000 * time.Second, false}, "x1000000": {8 * time.Microsecond, false},
	} {
		pace, err := ParsePace(text)
		if err != nil || pace.Due(s, &s.Steps[1]) != want.due || pace.Steps() != want.steps {
			t.Errorf("%s: %v, %s, steps %v; want %+v", text, err, pace.Due(s, &s.Steps[1]), pace.Steps(), want)
		}
	}
	for _, bad := range []string{"", "fast", "asap", "x", "x0", "x-1", "xNaN", "xInf", "4x", "x0.0009", "x1000001"} {
		if _, err := ParsePace(bad); err == nil {
			t.Errorf("%q is a pace", bad)
		}
	}
}
