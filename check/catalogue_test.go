package check_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/session"
)

// parsed is a conversation that is written in a test, or in a file.
func parsed(t testing.TB, text string) *script.Script {
	t.Helper()
	s, err := script.Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func scriptIn(t testing.TB, file string) *script.Script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, string(text))
}

// judge holds a conversation in a file against rules, with timers as they are
// written down.
func judge(t testing.TB, file string, rules []*check.Rule) []check.Finding {
	t.Helper()
	return judgeScript(t, scriptIn(t, file), rules)
}

func judgeScript(t testing.TB, s *script.Script, rules []*check.Rule) []check.Finding {
	t.Helper()
	timers := check.DefaultTimers()
	timers.Fixed = true
	k := check.NewChecker(check.Options{Rules: rules, Timers: timers})
	for e := range s.Entries() {
		k.Step(&e)
	}
	for _, f := range k.Findings() {
		sound(t, &f)
	}
	return k.Findings()
}

// sound is what every finding has.
func sound(t testing.TB, f *check.Finding) {
	t.Helper()
	if f.Message == "" || f.Message != strings.TrimSuffix(f.Message, ".") || len(f.Seqs) == 0 || slices.Contains(f.Seqs, session.Seq(0)) ||
		f.Count < 1 || f.At.IsZero() || f.Severity == check.Error && f.Rule.Confidence == check.Guessed {
		t.Errorf("%s: %+v", f.Rule.ID, f)
	}
}

func everyRule(t testing.TB) []*check.Rule {
	t.Helper()
	all, unknown := check.Select([]string{"all"}, nil)
	if unknown != "" {
		t.Fatal(unknown)
	}
	return all
}

func has(found []check.Finding, id string) bool {
	return slices.ContainsFunc(found, func(f check.Finding) bool { return f.Rule.ID == id })
}

// Each rule finds its fault in the conversation that has it, and not in the
// one that merely looks alike.
func TestCatalogue(t *testing.T) {
	all := everyRule(t)
	for _, r := range all {
		t.Run(r.ID, func(t *testing.T) {
			positive := judge(t, filepath.Join("testdata/catalogue", r.ID+".positive.xds"), all)
			if !has(positive, r.ID) {
				t.Errorf("not found where it is; found: %s", words(positive))
			}
			near := judge(t, filepath.Join("testdata/catalogue", r.ID+".near.xds"), all)
			if has(near, r.ID) {
				t.Errorf("found where it is not: %s", words(near))
			}
		})
	}
	files, err := filepath.Glob("testdata/catalogue/*.positive.xds")
	if err != nil || len(files) != len(all) {
		t.Errorf("%d rules, %d conversations, %v", len(all), len(files), err)
	}
}

func words(found []check.Finding) string {
	var out []string
	for _, f := range found {
		out = append(out, f.Severity.String()+" "+f.Rule.ID+" ("+f.Message+")")
	}
	return strings.Join(out, "; ")
}

// remarks are the lines of a script that say what to expect of it, such as
// "# expect warning: nack-received".
func remarks(t testing.TB, file string) (expected, allowed map[string]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	expected, allowed = map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(strings.NewReplacer(":", " ", ",", " ").Replace(strings.TrimPrefix(line, "#")))
		if !strings.HasPrefix(line, "#") || len(words) < 3 {
			continue
		}
		for _, id := range words[2:] {
			switch words[0] {
			case "expect":
				expected[id] = words[1]
			case "allow":
				allowed[id] = words[1]
			}
		}
	}
	return expected, allowed
}

// The rules are silent on what real clients and servers do when all is well.
func TestHealthyClients(t *testing.T) {
	files, err := filepath.Glob("testdata/clients/*.xds")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			expected, _ := remarks(t, file)
			found := judge(t, file, nil)
			for _, f := range found {
				if f.Severity != check.Info && expected[f.Rule.ID] != f.Severity.String() {
					t.Errorf("%s %s: %s", f.Severity, f.Rule.ID, f.Message)
				}
			}
			for id := range expected {
				if !has(found, id) {
					t.Errorf("no %s; found: %s", id, words(found))
				}
			}
		})
	}
}

// Every rule says what a person needs.
func TestRulesAreExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range check.Rules() {
		if seen[r.ID] || r.ID != strings.ToLower(r.ID) || strings.ContainsAny(r.ID, " _") {
			t.Errorf("id %q", r.ID)
		}
		seen[r.ID] = true
		for what, text := range map[string]string{
			"title": r.Title, "group": r.Group, "scope": r.Scope, "spec": r.Spec, "fault": string(r.Fault), "confidence": string(r.Confidence),
		} {
			if text == "" || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %s %q", r.ID, what, text)
			}
		}
		for what, text := range map[string]string{"meaning": r.Means, "causes": r.Causes, "next": r.Next} {
			if len(text) < 20 || !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") {
				t.Errorf("%s: %s %q", r.ID, what, text)
			}
		}
		if r.Severity == check.Error && r.Confidence == check.Guessed {
			t.Errorf("%s: a heuristic is never an error", r.ID)
		}
	}
}
