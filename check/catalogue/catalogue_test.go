package catalogue_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/catalogue"
)

// Each rule has a text and each text a rule, and what people read of a rule is
// all there.
func TestTexts(t *testing.T) {
	texts := catalogue.Texts()
	for _, r := range check.Rules() {
		x, known := texts[r.ID]
		if delete(texts, r.ID); !known {
			t.Errorf("%s has no text", r.ID)
		}
		for what, s := range map[string]string{
			"Group": x.Group, "Title": x.Title, "Scope": x.Scope, "Spec": x.Spec, "Means": x.Means, "Causes": x.Causes, "Next": x.Next,
		} {
			if s == "" || strings.TrimSpace(s) != s {
				t.Errorf("%s: %s is %q", r.ID, what, s)
			}
		}
	}
	for id := range texts {
		t.Errorf("%s is no rule", id)
	}
}

// A file has a heading, and below it of each rule its id and its six lines: a
// line that nobody reads is none of them.
func TestLines(t *testing.T) {
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	seen := make(map[string]string)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for line := range strings.Lines(string(text)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case strings.HasPrefix(line, "## "):
				id := strings.TrimSpace(line[3:])
				if seen[id] != "" {
					t.Errorf("%s stands in %s and in %s", id, seen[id], f)
				}
				seen[id] = f
			case word == "":
				continue
			}
			words = append(words, word)
		}
		for i, want := 1, []string{"##", "Title:", "Scope:", "Spec:", "Means:", "Causes:", "Next:"}; i < len(words); i++ {
			if words[i] != want[(i-1)%len(want)] {
				t.Fatalf("%s: %q where %q is expected", f, words[i], want[(i-1)%len(want)])
			}
		}
		if words[0] != "#" || len(words)%7 != 1 {
			t.Errorf("%s has no heading, or is not whole", f)
		}
	}
}
