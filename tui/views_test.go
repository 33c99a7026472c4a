package tui

import (
	"fmt"
	"testing"
)

// tabFrames are the tabs that frames are kept of, by the sessions that tell most
// of them.
func TestViewFrames(t *testing.T) {
	for _, c := range []struct {
		name, session string
		keys          []string
	}{
		{"resources", "demo", []string{"3"}},
		{"resources-dangling", "envoy-sotw-removed-while-routed", []string{"3", "j", "j"}},
		{"resources-by-type", "demo", []string{"3", "v"}},
		{"violations", "demo", []string{"4"}},
		{"violations-resent", "server-resends-what-was-rejected", []string{"4"}},
		{"panes", "envoy-sotw-nack", []string{"!"}},
		{"panes-client", "demo", []string{"1", "j", "enter", "!"}},
		{"stats", "demo", []string{"5"}},
		{"stats-nack", "envoy-sotw-nack", []string{"5"}},
		{"rule", "demo", []string{":", "e", "x", "p", "l", "a", "i", "n", " ", "n", "a", "c", "k", "-", "i", "m", "m", "e", "d", "i", "a", "t", "e", "-", "r", "e", "s", "e", "n", "d", "enter"}},
	} {
		for _, s := range sizes() {
			d := drive(t, fileSource(sessionPath(c.session)), s[0], s[1], Options{Theme: "mono"})
			d.m.stats.measure = func() uint64 { return 40 << 20 }
			d.press(c.keys...)
			d.golden(fmt.Sprintf("%s-%dx%d", c.name, s[0], s[1]))
		}
	}
}
