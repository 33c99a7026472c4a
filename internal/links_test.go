package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *#*$`)
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	code    = regexp.MustCompile("`[^`\n]*`")
	shown   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	source  = regexp.MustCompile("`([a-z][\\w.-]*(?:/[\\w.-]+)+\\.(?:go|sh|py|proto))`")
)

// anchors are what headings of a page are called in links, as GitHub makes it.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := shown.ReplaceAllString(m[1], "$1")
		var b strings.Builder
		for _, r := range strings.ToLower(title) {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				b.WriteRune(r)
			case r == ' ':
				b.WriteByte('-')
			}
		}
		all[b.String()] = true
	}
	return all
}

// Every relative link of a page leads to a file of the repository, and to a heading
// of it if it names one.
func TestLinks(t *testing.T) {
	out, err := exec.Command("git", "-C", "..", "ls-files", "-co", "--exclude-standard", "--", "*.md").Output()
	if err != nil {
		t.Skip("this is no clone: ", err)
	}
	pages := map[string]string{}
	read := func(path string) (string, bool) {
		if text, ok := pages[path]; ok {
			return text, true
		}
		text, err := os.ReadFile(path)
		if err == nil {
			pages[path] = string(text)
		}
		return string(text), err == nil
	}
	all := 0
	for _, name := range strings.Fields(string(out)) {
		page := filepath.Join("..", name)
		text, ok := read(page)
		if !ok {
			continue // deleted, and not committed yet
		}
		for _, m := range source.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil && !strings.HasPrefix(name, "docs/adr/") { // what was, stays there
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			target := m[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			all++
			path, anchor, _ := strings.Cut(target, "#")
			to := page
			if path != "" {
				to = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", name, target)
				continue
			}
			if anchor != "" && strings.HasSuffix(to, ".md") {
				if there, _ := read(to); !anchors(there)[anchor] {
					t.Errorf("%s: %s has no heading %q", name, target, anchor)
				}
			}
		}
	}
	if all < 200 {
		t.Errorf("only %d links were found: is that how they are written?", all)
	}
}
