package tui

import (
	"testing"
)

func TestBriefColumns(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	d.press("c")
	shows(t, d, "columns: what each entry says", "SUMMARY", "broken web")
	hides(t, d, "VERSION", "ACK ms")
	d.golden("timeline-brief-80x24")
	d.press("c")
	shows(t, d, "VERSION", "ACK ms")
	for _, s := range sizes() {
		d = drive(t, fileSource(sessionPath("envoy-sotw-nack")), s[0], s[1], Options{Theme: "mono"})
		d.press("c")
		_ = d.frame()
	}
}
