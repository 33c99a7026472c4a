package tui

import (
	"fmt"
	"testing"
)

// sizes are those that frames are kept in.
func sizes() [][2]int { return [][2]int{{80, 24}, {120, 35}, {160, 50}, {40, 10}} }

func TestTimelineFrames(t *testing.T) {
	for _, s := range sizes() {
		d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), s[0], s[1], Options{Theme: "mono"})
		d.golden(fmt.Sprintf("timeline-%dx%d", s[0], s[1]))
		d.press("1")
		d.golden(fmt.Sprintf("clients-%dx%d", s[0], s[1]))
	}
}
