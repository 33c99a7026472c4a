package tui

import (
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
)

// FuzzKeys plays keys, texts, clicks and sizes on recorded sessions: nothing
// panics, and every line fits on the screen. A byte is a step; there are few, so
// that many inputs can be tried.
func FuzzKeys(f *testing.F) {
	sessions := []string{"envoy-sotw-nack", "grpc-go-nack", "demo", "envoy-delta-removed-while-routed"}
	var keys []string
	for _, b := range key.All() {
		keys = append(keys, b.Keys...)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "ctrl+c" })
	typed := []string{"client:envoy", "marked:yes", "kind:nack", "edge", "\"", "17", "explain nack-received", "ж𝟘界"}
	for i := range sessions {
		seed := []byte{byte(i)}
		for k := range keys {
			seed = append(seed, byte(k), byte(len(keys)+k%8))
		}
		f.Add(seed)
		f.Add([]byte{byte(i), 250, 1, 2, 240, 3, 255, 33, 9})
	}
	at := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) == 0 {
			return
		}
		o := Options{Theme: "mono", Now: func() time.Time { return at }}
		d := drive(t, fileSource(sessionPath(sessions[int(steps[0])%len(sessions)])), 80, 24, o)
		for i, b := range steps[1:min(len(steps), 24)] {
			switch n := int(b); {
			case n < len(keys):
				d.press(keys[n])
			case n < len(keys)+len(typed):
				for _, r := range typed[n-len(keys)] {
					d.give(tea.KeyPressMsg{Code: r, Text: string(r)})
				}
			case n < 200:
				d.give(tea.WindowSizeMsg{Width: 1 + n*7%170, Height: 1 + (n*13+i)%60})
			case n < 250:
				d.clickAt((n*31+i*7)%d.m.w, (n*17+i*3)%d.m.h)
			case n < 253:
				d.give(tea.MouseWheelMsg{X: i % d.m.w, Y: n % d.m.h, Button: tea.MouseWheelDown})
			default:
				d.give(tea.PasteMsg{Content: "client:\x1b[31m\nx\xff"})
			}
			_ = d.frame()
		}
	})
}
