package recordertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/golden/verdict"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// All entries of a recording come, in order; a file that is none, or is not there, fails
// the test.
func TestEntries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made.xdsp")
	log, err := recorder.Create(file, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	for conn := range session.ConnID(3) {
		log.Append(session.Entry{Conn: conn + 1, Kind: session.KindConnect, Side: session.Client, Time: time.Unix(1, 0), Peer: &session.Peer{Client: "c", Upstream: "u"}})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for i, e := range Entries(t, file) {
		if i > 2 || e.Conn != session.ConnID(i+1) || e.Kind != session.KindConnect {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if n := len(Entries(t, file)); n != 3 {
		t.Errorf("%d entries", n)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(whole) / 2; i < len(whole); i++ { // behind the head of the file
		whole[i] ^= 0x55
	}
	damaged := filepath.Join(t.TempDir(), "damaged.xdsp")
	if err := os.WriteFile(damaged, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{file + "s", damaged, "recordertest.go"} {
		got := verdict.Of(t, func(t testing.TB) { Entries(t, file) })
		if !strings.HasPrefix(got, "fatal: ") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q", file, got)
		}
	}
}
