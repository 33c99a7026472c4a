package agree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/session"
)

// testdata is what package check is tested with.
const testdata = "../../check/testdata/"

// glob are the files of a pattern, at least so many.
func glob(t testing.TB, pattern string, least int) []string {
	t.Helper()
	files, err := filepath.Glob(testdata + pattern)
	if err != nil || len(files) < least {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

// recordings are those of real clients and servers.
func recordings(t testing.TB) []string {
	t.Helper()
	return append(glob(t, "sessions/*.xdsp", 20), glob(t, "systems/*.xdsp", 14)...)
}

// nameOf is a file as tests call it.
func nameOf(file string) string {
	name := strings.TrimPrefix(filepath.ToSlash(file), testdata)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// readScript gives the entries of a file with a script.
func readScript(t testing.TB, file string) []session.Entry {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := play(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// Lines between these were not recorded: a gap stands for them. A script takes
// them for remarks.
const (
	lostFrom = "# lost:"
	lostTo   = "# lost."
)

// play gives the entries of a script.
func play(text string) ([]session.Entry, error) {
	s, err := script.Parse("conversation", []byte(text))
	if err != nil {
		return nil, err
	}
	lost := make(map[int]bool) // by line
	in := false
	for i, line := range strings.Split(text, "\n") {
		switch line {
		case lostFrom:
			in = true
		case lostTo:
			in = false
		}
		lost[i+1] = in
	}
	var all []session.Entry
	for e := range s.Entries() {
		// How a connection and a stream began is known.
		if begins := e.Kind == session.KindConnect || e.Kind == session.KindOpen; !lost[s.Line(e.Seq)] || begins {
			all = append(all, e)
			continue
		}
		if n := len(all); n > 0 && all[n-1].Kind == session.KindGap {
			g := all[n-1].Gap
			all[n-1].Seq, all[n-1].Time, g.Last = e.Seq, e.Time, e.Seq
			g.Entries++
			if e.Stream != 0 && !slices.Contains(g.Streams, e.Stream) {
				g.Streams = append(g.Streams, e.Stream)
			}
			continue
		}
		g := &session.Gap{First: e.Seq, Last: e.Seq, Entries: 1}
		if e.Stream != 0 {
			g.Streams = []session.StreamID{e.Stream}
		}
		all = append(all, session.Entry{Seq: e.Seq, Time: e.Time, Kind: session.KindGap, Side: session.Proxy, Gap: g})
	}
	return all, nil
}
