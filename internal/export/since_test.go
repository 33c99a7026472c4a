package export

import (
	"testing"
	"time"
)

// Whatever docs show is understood, and a zone counts.
func TestSinceWhen(t *testing.T) {
	now := time.Date(2026, 3, 10, 1, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-03-09": "2026-03-09T00:00:00Z", "2026-03-09T12:41": "2026-03-09T12:41:00Z", "2026-03-09T12:41Z": "2026-03-09T12:41:00Z",
		"2026-03-09T12:41+02:00": "2026-03-09T10:41:00Z", "2026-03-09T12:41:07Z": "2026-03-09T12:41:07Z", "2026-03-09 12:41:07": "2026-03-09T12:41:07Z",
		"36h": "2026-03-08T13:00:00Z", "-36h": "2026-03-08T13:00:00Z", "7d": "2026-03-03T01:00:00Z",
	} {
		if got, err := sinceWhen(text, now); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q is %v %v, not %s", text, got, err, want)
		}
	}
	for _, text := range []string{"5", "--1h", "1w", "2026-02-30", "99999d", "10000000h", "yesterday", " "} {
		if got, err := sinceWhen(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
