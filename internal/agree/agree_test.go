package agree

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
)

// few are the first of the disagreements, which is where to begin.
func few(t *testing.T, found []disagreement) {
	t.Helper()
	const most = 6
	for i, d := range found {
		if i == most {
			t.Errorf("and %d more", len(found)-most)
			return
		}
		t.Error(d)
	}
}

// On every script that rules are tested with, all tell the same.
func TestScripts(t *testing.T) {
	for _, file := range append(append(glob(t, "catalogue/*.xds", 100), glob(t, "stories/*.xds", 300)...), glob(t, "clients/*.xds", 20)...) {
		t.Run(nameOf(file), func(t *testing.T) { few(t, try(readScript(t, file))) })
	}
}

// So they do on every recording of real clients and servers.
func TestRecordings(t *testing.T) {
	for _, file := range recordings(t) {
		t.Run(nameOf(file), func(t *testing.T) { few(t, try(recordertest.Entries(t, file))) })
	}
}
