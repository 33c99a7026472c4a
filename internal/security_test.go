package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goTest is how documents name a test: `go test ./PACKAGE -run NAME`.
var goTest = regexp.MustCompile("`go test (\\./[\\w./-]*) -run '?([A-Za-z]\\w*)(/[^\\s'`]+)?\\$?'?( -[^`]*)?`")

// functions are the tests and fuzz targets of a directory.
func functions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}

// namedTests are the tests that a page names, which have to exist: as functions of
// that package, or else as a part of the names of some, as go test takes it.
func namedTests(t *testing.T, page string, exactly bool) (all int) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range goTest.FindAllStringSubmatch(string(text), -1) {
		all++
		pkg, name := m[1], m[2]
		found := false
		for f := range functions(t, filepath.Join("..", pkg)) {
			found = found || f == name || !exactly && (strings.Contains(f, name) || name == strings.ToUpper(name)) // TEST stands for any
		}
		if !found {
			t.Errorf("%s names %s of %s, which does not exist", page, name, pkg)
		}
		if script, is := strings.CutPrefix(m[3], "/"); is && name == "TestScripts" {
			if _, err := os.Stat(filepath.Join("..", pkg, "testdata/script", script+".txtar")); err != nil {
				t.Errorf("%s names the script %s of %s: %v", page, script, pkg, err)
			}
		}
	}
	return all
}

// Each claim of SECURITY.md names the tests that hold it, and these exist.
func TestSecurityClaims(t *testing.T) {
	text, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, claims, _ := strings.Cut(string(text), "## What is promised, and what holds it\n")
	claims, _, ok := strings.Cut(claims, "\n## ")
	if !ok {
		t.Fatal("SECURITY.md has no claims")
	}
	n := 0
	for line := range strings.Lines(claims) {
		if claim, is := strings.CutPrefix(line, "- "); is {
			if n++; !goTest.MatchString(claim) {
				t.Errorf("no test holds this: %s", claim)
			}
			if !strings.Contains(claim, "`go test ") || strings.Count(claim, "`go test ") != len(goTest.FindAllString(claim, -1)) {
				t.Errorf("a command in this is none: %s", claim)
			}
		}
	}
	if named := namedTests(t, "../SECURITY.md", true); n < 20 || named < n {
		t.Errorf("%d claims and %d tests", n, named)
	}
}

// What other pages say can be run can be run.
func TestNamedTestsExist(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	all := 0
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md") {
		all += namedTests(t, page, false)
	}
	if all < 30 {
		t.Errorf("only %d tests are named: is that how they are written?", all)
	}
}
