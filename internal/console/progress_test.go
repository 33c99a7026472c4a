package console

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What a person sees of a long work, with the rate and what is left of it.
func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		name        string
		total, read int64
		after       time.Duration
		want        string
	}{
		{"too early", 4000, 1000, time.Second - time.Millisecond, ""},
		{"just in time", 4000, 1000, time.Second, "\r\x1b[Kreading 1000 B of 3.9 KiB, 7 entries, 1000 B/s, 3s left"},
		{"nothing read", 4000, 0, time.Second, "\r\x1b[Kreading 0 B of 3.9 KiB, 7 entries, 0 B/s"},
		{"all of it", 4000, 4000, 2 * time.Second, "\r\x1b[Kreading 3.9 KiB of 3.9 KiB, 7 entries, 2 KiB/s"},
		{"more than was measured", 4000, 4001, 2 * time.Second, "\r\x1b[Kreading 3.9 KiB, 7 entries, 2 KiB/s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			p := (&Console{Stderr: &b}).Progress("reading", "nowhere", func() (int64, uint64) { return c.read, 7 }).Of(c.total)
			p.w = &b // a terminal
			time.Sleep(c.after)
			for range 255 {
				p.Advance()
			}
			if b.Len() > 0 {
				t.Errorf("%s: the clock is asked for each entry", c.name)
			}
			p.Advance()
			if b.String() != c.want {
				t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
			}
			if c.want == "" {
				return
			}
			time.Sleep(199 * time.Millisecond)
			p.Look()
			if b.String() != c.want {
				t.Errorf("%s: too soon again: %q", c.name, b.String())
			}
			b.Reset()
			p.End()
			if b.String() != "\r\x1b[K" {
				t.Errorf("%s: at the end %q", c.name, b.String())
			}
			b.Reset()
			time.Sleep(time.Millisecond)
			if p.Look(); !strings.HasPrefix(b.String(), "\r\x1b[Kreading") {
				t.Errorf("%s: later %q", c.name, b.String())
			}
		})
	}
}

// To a script nothing is said, whatever the work is on.
func TestProgressToScript(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := (&Console{Stderr: &b}).Progress("reading", file, func() (int64, uint64) { return 1, 1 })
		time.Sleep(time.Minute)
		p.Look()
		p.End()
		if b.Len() != 0 {
			t.Errorf("%q", b.String())
		}
	})
}
