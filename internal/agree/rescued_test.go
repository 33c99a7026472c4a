package agree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
)

// What is rescued of a damaged recording accuses nobody of what is merely missing.
func TestRescuedAccusesNobody(t *testing.T) {
	damages := 0
	for _, file := range recordings(t) {
		whole := accused(t, file)
		of, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range 2 {
			at := len(of) * (part + 1) / 3
			bad, to := filepath.Join(t.TempDir(), "bad.xdsp"), filepath.Join(t.TempDir(), "rescued.xdsp")
			b := append([]byte(nil), of...)
			b[at] ^= 0x55
			if err := os.WriteFile(bad, b, 0o600); err != nil {
				t.Fatal(err)
			}
			done, err := recorder.Salvage(t.Context(), bad, to, nil)
			if err != nil {
				t.Fatal(err)
			}
			damages += done.Damages
			for what, times := range accused(t, to) {
				if times > whole[what] {
					t.Errorf("%s, byte %d: %s comes %d times, and %d times in the whole recording", nameOf(file), at, what, times, whole[what])
				}
			}
		}
	}
	if damages < 50 {
		t.Errorf("only %d damages", damages)
	}
}

// accused says how often rules find more than a note in a recording. Who is meant is not
// compared: the message that names the client may be missing.
func accused(t *testing.T, file string) map[string]int {
	t.Helper()
	k, out := check.NewChecker(check.Options{}), make(map[string]int)
	for _, e := range recordertest.Entries(t, file) {
		for _, f := range k.Step(&e).Findings {
			if f.Severity > check.Info {
				out[f.Severity.String()+" "+f.Rule.ID]++
			}
		}
	}
	return out
}
