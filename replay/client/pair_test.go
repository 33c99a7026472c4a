package client_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/replaytest"
)

// Every kept session, the one side against the other: both say the same as then.
func TestAgainstItself(t *testing.T) {
	files, err := filepath.Glob(replaytest.Sessions + "/*.xdsp")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d sessions, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".xdsp"), func(t *testing.T) {
			t.Parallel()
			server, client := replaytest.Against(t, file, replay.Options{})
			for name, r := range map[string]*replay.Report{"server": server, "client": client} {
				if strings.HasPrefix(filepath.Base(file), "envoy-per-type") && strings.Contains(strings.Join(r.Notes, " "), "restart the live one") {
					t.Errorf("%s: of streams of single types it is said that the client went away: %q", name, r.Notes)
				}
				if r.Differs() || r.Matched != r.Expected || r.Matched == 0 {
					t.Errorf("%s: %+v", name, r)
				}
			}
		})
	}
}

// What both sides say to each other, and of each other, of recordings that are the same and that are not.
func TestPairs(t *testing.T) { replaytest.Pairs(t, "testdata/pairs") }
