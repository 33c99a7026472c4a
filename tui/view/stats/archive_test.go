package stats

import (
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/tui/source"
)

// TestArchiveLine is what was uploaded, and what is wrong with that.
func TestArchiveLine(t *testing.T) {
	for want, a := range map[string]source.Archived{
		"ARCHIVE   uploaded 0 segments, 0 B   waiting 0":                                 {},
		"ARCHIVE   uploaded 1 segment, 2 KiB   waiting 0":                                {Done: 1, DoneBytes: 2048},
		"ARCHIVE   uploaded 3 segments, 2 KiB   waiting 2, 64 MiB, for 3m":               {Done: 3, DoneBytes: 2048, Pending: 2, PendingBytes: 64 << 20, Oldest: 3 * time.Minute},
		"waiting 1, 1 B, for 1h   failed 4   deleted before 5   THE ARCHIVE CANNOT BE R": {Pending: 1, PendingBytes: 1, Oldest: time.Hour, Failed: 4, Dropped: 5, Stalled: true},
	} {
		line := archiveLine(&a)
		if got := line.PlainText(); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}
