package check_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// readAll gives back the entries of a recording.
func readAll(t testing.TB, file string) (all []session.Entry) {
	t.Helper()
	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func judgeEntries(entries []session.Entry) []check.Finding {
	k := check.NewChecker(check.Options{})
	for i := range entries {
		k.Step(&entries[i])
	}
	return k.Findings()
}

// Recordings of real clients and servers: nothing is found beyond what is
// truly wrong in them, which the text beside each says. Written as a script and
// judged again, they give the same.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/sessions/*.xdsp")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".xdsp"), func(t *testing.T) {
			text, err := os.ReadFile(strings.TrimSuffix(file, ".xdsp") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			expected := map[string]bool{}
			for line := range strings.Lines(string(text)) {
				if id, ok := strings.CutPrefix(line, "expect: "); ok {
					expected[strings.TrimSpace(id)] = true
				}
			}
			entries := readAll(t, file)
			found := judgeEntries(entries)
			for _, f := range found {
				sound(t, &f)
				if f.Severity != check.Info && !expected[f.Rule.ID] {
					t.Errorf("%s %s: %s (%v)", f.Severity, f.Rule.ID, f.Message, f.Seqs)
				}
			}
			for id := range expected {
				if !has(found, id) {
					t.Errorf("no %s", id)
				}
			}
			sameAsScript(t, entries, check.Info)
		})
	}
}

// sameAsScript requires that a session gives the same findings, of at least a
// severity, when it is written as a script and read again.
func sameAsScript(t *testing.T, entries []session.Entry, least check.Severity) {
	t.Helper()
	var b strings.Builder
	if _, err := script.Write(&b, slices.Values(entries)); err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse("exported.xds", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	again := slices.Collect(s.Entries())
	if want, got := gist(atLeast(least, judgeEntries(entries))), gist(atLeast(least, judgeEntries(again))); want != got {
		t.Errorf("of the recording:\n%s\nof its script:\n%s", want, got)
	}
}

func atLeast(s check.Severity, found []check.Finding) []check.Finding {
	return slices.DeleteFunc(found, func(f check.Finding) bool { return f.Severity < s })
}

// gist is what must not change when a session is written as a script.
func gist(found []check.Finding) string {
	var b strings.Builder
	for _, f := range found {
		b.WriteString(strings.Join([]string{f.Rule.ID, f.Severity.String(), f.Client, f.Type, strings.Join(f.Names, ",")}, " ") + "\n")
	}
	return b.String()
}
