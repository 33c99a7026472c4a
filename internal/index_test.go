package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who looks for something begins at the index: every page, every command and topic,
// and every group of rules is reached from there.
func TestIndexOfDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	index := string(text)
	for _, pattern := range []string{"*.md", "man/*", "adr/README.md", "tutorials/README.md"} {
		pages, err := filepath.Glob("../docs/" + pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(pages), err)
		}
		for _, page := range pages {
			if page = strings.TrimPrefix(page, "../docs/"); page == "README.md" {
				continue
			}
			if !strings.Contains(index, "]("+page+")") && !strings.Contains(index, "]("+page+"#") {
				t.Errorf("docs/README.md does not lead to %s", page)
			}
		}
	}
	rules, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	groups := 0
	for _, line := range strings.Split(string(rules), "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			groups++
			if anchor := strings.ReplaceAll(strings.ToLower(title), " ", "-"); !strings.Contains(index, "(rules.md#"+anchor+")") {
				t.Errorf("docs/README.md does not lead to the rules about %s", title)
			}
		}
	}
	if groups < 10 {
		t.Errorf("%d groups of rules were found", groups)
	}
	tutorials, err := os.ReadFile("../docs/tutorials/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, _ := filepath.Glob("../docs/tutorials/*.md")
	for _, page := range pages {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(string(tutorials), "]("+name+")") {
			t.Errorf("docs/tutorials/README.md does not lead to %s", name)
		}
	}
}
