package tui

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
)

func noStats() recorder.Stats { return recorder.Stats{} }

// A recording that is damaged in its middle says where, and how to mend it.
func TestBannerOfDamage(t *testing.T) {
	whole, err := os.ReadFile(sessionPath("envoy-sotw-nack"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "it's.xdsp")
	copy(whole[len(whole)/2:], make([]byte, 64))
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	d := drive(t, fileSource(path), 160, 24, Options{Theme: "mono"})
	shows(t, d, " ! damaged after entry ", `mend it: xdsproxy export '`, `it'\''s.xdsp' --repair -w 'it'\''s-fixed.xdsp'`)
	d.press("P")
	hides(t, d, filepath.Dir(path))
	d = drive(t, fileSource(path), 40, 10, Options{Theme: "mono"})
	shows(t, d, " ! damaged after entry ")
}

// What troubles the recording is said as long as it lasts.
func TestBannersComeAndGo(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	stats, link := recorder.Stats{}, ""
	src := proxying("127.0.0.1:18000")
	src.Proxy.Stats = func() recorder.Stats { return stats }
	src.Link = func() string { return link }
	d := drive(t, src, 100, 24, Options{Theme: "mono", Now: func() time.Time { return at }})
	const failing, lost = "the recording cannot be written", "3 entries were not recorded"
	hides(t, d, " ! ")

	stats.Failing = true
	shows(t, d, failing, "forwarding is not affected")
	stats.Failing = false
	hides(t, d, failing)

	stats.Lost = 3
	d.m.losses()
	shows(t, d, lost)
	at = at.Add(lossShown + time.Second)
	d.m.losses()
	hides(t, d, lost)

	stats.Losses = 1
	src.Proxy.Recording = func() string { return "/tmp/session-2.xdsp" }
	d.m.losses()
	shows(t, d, "somebody removed, replaced or truncated the file of the recording")
	at = at.Add(awayShown + time.Second)
	hides(t, d, "somebody removed")

	link = "the link to the log is down for 12 s; try 3"
	shows(t, d, link)
	link = ""
	hides(t, d, "the link")
}
