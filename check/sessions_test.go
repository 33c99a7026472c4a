package check_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

func judgeEntries(entries []session.Entry) []check.Finding {
	k := check.NewChecker(check.Options{})
	for i := range entries {
		k.Step(&entries[i])
	}
	return k.Findings()
}

// eachRecording gives what is found in each recording of a folder, and what the
// text beside it says to expect: the rest of each line "expect: ...".
func eachRecording(t *testing.T, folder string, least int, do func(t *testing.T, entries []session.Entry, found []check.Finding, expected []string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.xdsp"))
	if err != nil || len(files) < least {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".xdsp")
		t.Run(filepath.Base(name), func(t *testing.T) {
			var expected []string
			eachLine(t, name+".txt", func(_, line string) {
				if what, is := strings.CutPrefix(line, "expect: "); is {
					expected = append(expected, what)
				}
			})
			entries := recordertest.Entries(t, file)
			found := judgeEntries(entries)
			for _, f := range found {
				sound(t, &f)
			}
			do(t, entries, found, expected)
		})
	}
}

// Recordings of real clients and servers: nothing is found beyond what is
// truly wrong in them, which the text beside each says in lines "expect: RULE".
// Written as a script and judged again, they give the same.
func TestSessions(t *testing.T) {
	eachRecording(t, "sessions", 20, func(t *testing.T, entries []session.Entry, found []check.Finding, expected []string) {
		for _, f := range found {
			if f.Severity != check.Info && !slices.Contains(expected, f.Rule.ID) {
				t.Errorf("%s %s: %s (%v)", f.Severity, f.Rule.ID, f.Message, f.Seqs)
			}
		}
		for _, id := range expected {
			if !has(found, id) {
				t.Errorf("no %s", id)
			}
		}
		sameAsScript(t, entries, check.Info)
	})
}

// Sessions of clients and servers that others wrote, as they are in use. Beside
// NAME.xdsp, NAME.txt says who they are and what happened, and in lines
// "expect: RULE SEVERITY ENTRY" what is truly wrong: just that is found, but for
// notes. These sessions cannot be recorded anew.
func TestSystems(t *testing.T) {
	eachRecording(t, "systems", 14, func(t *testing.T, entries []session.Entry, found []check.Finding, expected []string) {
		wrong := atLeast(check.Warning, found)
		for _, line := range expected {
			var rule, severity string
			var entry session.Seq
			if n, err := fmt.Sscanf(line, "%s %s %d", &rule, &severity, &entry); n != 3 {
				t.Fatalf("%q: %v", line, err)
			}
			i := slices.IndexFunc(wrong, func(f check.Finding) bool {
				return f.Rule.ID == rule && f.Severity.String() == severity && slices.Contains(f.Seqs, entry)
			})
			if i < 0 {
				t.Errorf("no %s", line)
				continue
			}
			wrong = slices.Delete(wrong, i, i+1)
		}
		for _, f := range wrong {
			t.Errorf("not expected: %s %s (%v): %s", f.Rule.ID, f.Severity, f.Seqs, f.Message)
		}
		sameAsScript(t, entries, check.Warning) // a script does not say which field is deprecated
	})
}

// sameAsScript requires that a session gives the same findings, of at least a
// severity, when it is written as a script and read again.
func sameAsScript(t *testing.T, entries []session.Entry, least check.Severity) {
	t.Helper()
	var b strings.Builder
	if _, err := script.Write(&b, slices.Values(entries)); err != nil {
		t.Fatal(err)
	}
	s := parsed(t, b.String())
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
