package tui

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/recorder"
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
		{"panes-client", "demo", []string{"1", "g", "j", "enter", "!"}},
		{"stats", "demo", []string{"5"}},
		{"stats-nack", "envoy-sotw-nack", []string{"5"}},
		{"pushes", "demo", []string{"6"}},
		{"pushes-nack", "envoy-sotw-nack", []string{"6", "g"}},
		{"rule", "demo", []string{":", "e", "x", "p", "l", "a", "i", "n", " ", "n", "a", "c", "k", "-", "i", "m", "m", "e", "d", "i", "a", "t", "e", "-", "r", "e", "s", "e", "n", "d", "enter"}},
	} {
		for _, s := range sizes() {
			if strings.HasPrefix(c.name, "panes") && s[0] < panesWidth {
				continue
			}
			d := drive(t, fileSource(sessionPath(c.session)), s[0], s[1], Options{Theme: "mono"})
			d.press(c.keys...)
			d.golden(fmt.Sprintf("%s-%dx%d", c.name, s[0], s[1]))
		}
	}
}

// Each tab can be drawn at any size, on a session and on an empty one; frame
// says if a line is too wide.
func TestViewsFit(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.xdsp")
	log, err := recorder.Create(empty, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, sessionPath("demo")} {
		for _, ascii := range []bool{false, true} {
			d := drive(t, fileSource(path), 80, 24, Options{ASCII: ascii})
			for w := 38; w < 200; w += 9 {
				for _, h := range []int{9, 10, 11, 14, 15, 16, 24, 34, 35, 61} {
					d.give(tea.WindowSizeMsg{Width: w, Height: h})
					for _, keys := range [][]string{{"1", "G"}, {"2", "tab", "j"}, {"3", "j"}, {"3", "v", "G"}, {"4", "G"}, {"5", "G"}, {"6", "g"}} {
						d.press(keys...)
						d.frame()
					}
				}
			}
		}
	}
}
