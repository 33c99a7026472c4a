package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What make test leaves out under the race detector by its name, it runs without it, in the
// packages that the Makefile lists. A test of such a name in another package would not run at all.
func TestSteadyTestsRun(t *testing.T) {
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + `\s*= (.*)$`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in the Makefile", name)
		}
		return string(m[1])
	}
	steady := regexp.MustCompile(`(?m)^func (` + strings.TrimPrefix(strings.TrimSuffix(value("STEADY"), "$$"), "^") + `)\(`)
	without := strings.Fields(value("STEADIES")) // the race detector
	for _, m := range regexp.MustCompile(` -e (\S+)`).FindAllStringSubmatch(value("RACY"), -1) {
		without = append(without, m[1])
	}
	found := make(map[string]bool)
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range steady.FindAllSubmatch(text, -1) {
			found[string(m[1])] = true
			if dir := "./" + filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../"))); !slices.Contains(without, dir) {
				t.Errorf("%s of %s does not run: give it another name, or its package to STEADIES", m[1], dir)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(value("STEADY"), "^Test("), ")$$"), "|") {
		if !found["Test"+name] {
			t.Errorf("STEADY names Test%s, which is nowhere", name)
		}
	}
}
