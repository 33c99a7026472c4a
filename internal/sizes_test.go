package internal_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A package that is larger than this cannot be taken in by who comes new.
const (
	mostLines       = 6500
	mostLinesOfRoot = 2500 // of tui itself, whose views are rooms of their own
)

// What tests and programs wrote is not counted.
func TestSizes(t *testing.T) {
	lines := map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || path == "../dist") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if parsed, err := parser.ParseFile(token.NewFileSet(), path, b, parser.PackageClauseOnly|parser.ParseComments); err != nil {
			return err
		} else if !ast.IsGenerated(parsed) {
			lines[filepath.ToSlash(filepath.Dir(path))] += bytes.Count(b, []byte("\n"))
		}
		return nil
	})
	if err != nil || len(lines) < 100 {
		t.Fatal(err, lines)
	}
	for dir, n := range lines {
		most := mostLines
		if dir == "../tui" {
			most = mostLinesOfRoot
		}
		if n > most {
			t.Errorf("%s has %d lines, and %d at most are allowed: make a room of its own of a part", strings.TrimPrefix(dir, "../"), n, most)
		}
	}
}
