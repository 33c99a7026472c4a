package across

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// spoil makes nonsense of some bytes in the middle of a recording, and of its end.
func spoil(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b) / 2; i < len(b)/2+50; i++ {
		b[i] ^= 0x5A
	}
	b = append(b[:len(b)-1000], bytes.Repeat([]byte{0x5A}, 1000)...)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// How many recordings are damaged is said beside what could be read, whatever is asked.
func TestDamagedOnesAreCounted(t *testing.T) {
	for damages, want := range []string{"", "1 recording is damaged", "2 recordings are damaged"} {
		root := t.TempDir()
		dir := func(proxy string) string { return filepath.Join(root, "cluster=c", "date=2027-01-15", "proxy="+proxy) }
		whole := proxy{dir: dir("a"), name: "whole", clients: []string{"a"}, pushes: 5, start: began}
		whole.write(t)
		for _, name := range []string{"b", "c"}[:damages] {
			p := proxy{dir: dir(name), name: "spoiled", clients: []string{name}, pushes: 500, start: began}
			spoil(t, p.write(t)[0])
		}
		if err := os.MkdirAll(dir("z"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir("z"), "foreign.xdsp"), []byte("PK\x03\x04 something else"), 0o600); err != nil {
			t.Fatal(err)
		}
		says := func(what string, err error) {
			t.Helper()
			if got := err != nil; got != (damages > 0) || got && (err.Error() != want || !Incomplete(err)) {
				t.Errorf("%s of %d damaged: %v", what, damages, err)
			}
		}
		info, err := readerOf(t, root, nil).Info(t.Context(), false)
		says("info", err)
		if total := info.Total; total.Recordings != damages+2 || total.Unread != 1 || total.Proxies != damages+2 || !strings.Contains(info.Text(), "not read") {
			t.Errorf("of %d damaged: %+v\n%s", damages, total, info.Text())
		}
		standing, err := readerOf(t, root, nil).Standing(t.Context(), options())
		says("standing", err)
		if !slices.ContainsFunc(standing.Clients, func(c render.ClientStatus) bool { return c.Client == "a" }) {
			t.Errorf("of %d damaged the client of the one that is whole is not among %+v", damages, standing.Clients)
		}
		err = readerOf(t, root, nil).Judge(t.Context(), options(), render.NewReport(), false)
		says("check", err)
		n := uint64(0)
		r := readerOf(t, root, nil)
		written, err := r.Merge(t.Context(), Plan{
			Query: func() (*input.Query, error) { return input.ParseQuery("") },
			Tell: func(*fleet.Recording, *input.Query) Teller {
				return func(e *session.Entry, _ *check.Change, _ bool) ([]byte, error) {
					if e == nil {
						return nil, nil
					}
					return []byte("line"), nil
				}
			},
			Write: func(Line) error { n++; return nil },
		})
		says("merge", err)
		if written != n || n < 13 {
			t.Errorf("of %d damaged %d lines are written, and it says %d", damages, n, written)
		}
	}
}

// The worst clients come first, and those that are gone last. What is gone of a client
// makes it no worse.
func TestGraveOnesComeFirst(t *testing.T) {
	of := func(gone string, types ...string) render.ClientStatus {
		c := render.ClientStatus{Gone: gone}
		for _, state := range types {
			state, gone, _ := strings.Cut(state, " ")
			c.Types = append(c.Types, render.TypeStatus{State: state, Gone: gone})
		}
		return c
	}
	ordered := []render.ClientStatus{
		of("", "SYNCED", "NACKED"), of("", "STALE", "SYNCED"), of("", "NOTSENT"), of("", "PENDING"), of("", "UNKNOWN", "SYNCED"),
		of("", "SYNCED", "NACKED gone"), of("gone", "NACKED"), of("gone", "STALE"), of("gone", "SYNCED"),
	}
	if !slices.IsSortedFunc(ordered, func(a, b render.ClientStatus) int { return grave(&b) - grave(&a) }) {
		t.Error("they come in another order")
	}
	for i := range ordered[1:] {
		if grave(&ordered[i]) <= grave(&ordered[i+1]) {
			t.Errorf("%+v is no worse than %+v", ordered[i], ordered[i+1])
		}
	}
}
