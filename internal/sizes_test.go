package internal_test

import (
	"bytes"
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
		if d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "dist") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err == nil && !bytes.Contains(b, []byte("\n// Code generated ")) && !bytes.HasPrefix(b, []byte("// Code generated ")) {
			lines[filepath.ToSlash(filepath.Dir(path))] += bytes.Count(b, []byte("\n"))
		}
		return err
	})
	if err != nil || len(lines) < 100 {
		t.Fatal(err, lines)
	}
	for dir, n := range lines {
		if n > mostLines || dir == "../tui" && n > mostLinesOfRoot {
			t.Errorf("%s has %d lines", strings.TrimPrefix(dir, "../"), n)
		}
	}
}
