package gobuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the program is made of is opened, down to what no test imports.
func TestOpen(t *testing.T) {
	paths, err := Open("../..", "./cmd/xdsproxy")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cmd/xdsproxy", "internal/effect", "session", "go.mod"} {
		if path, err := filepath.Abs("../../" + want); err != nil || !slices.Contains(paths, path) {
			t.Errorf("%s is not among %d paths, %v", path, len(paths), err)
		}
	}
	if !slices.ContainsFunc(paths, func(p string) bool {
		return filepath.Ext(p) == ".gz" || filepath.Ext(p) == ".txt" || filepath.Ext(p) == ".js"
	}) {
		t.Error("nothing that is embedded is among them")
	}
}

// go test runs a test again when a program that it runs has changed, and only then.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := time.Now().Add(-time.Minute) // go test keeps no result of a file of this moment
		if err := os.Chtimes(path, before, before); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile("gobuild.go")
	if err != nil {
		t.Fatal(err)
	}
	write("go.mod", "module m\n\ngo 1.26\n")
	write("gobuild/gobuild.go", string(self))
	write("prog/main.go", "package main\n\nimport \"m/lib\"\n\nfunc main() { print(lib.Word) }\n")
	write("lib/lib.go", "package lib\n\nconst Word = \"one\"\n")
	write("m_test.go", `package m

import (
	"os/exec"
	"testing"

	"m/gobuild"
)

func TestProgram(t *testing.T) {
	out := t.TempDir() + "/prog"
	if err := gobuild.Program(exec.Command("go", "build", "-o", out, "m/prog")); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(out).CombinedOutput(); err != nil || string(said) != "one" {
		t.Fatalf("%v: it says %s", err, said)
	}
}
`)
	test := func() string {
		cmd := exec.Command("go", "test", ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS="+strings.ReplaceAll(os.Getenv("GOFLAGS"), "-count=1", "")) // which would take nothing from the cache
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if said := test(); !strings.HasPrefix(said, "ok") || strings.Contains(said, "(cached)") {
		t.Fatal(said)
	}
	if said := test(); !strings.HasPrefix(said, "ok") || !strings.Contains(said, "(cached)") {
		t.Error("nothing has changed: ", said)
	}
	write("lib/lib.go", "package lib\n\nconst Word = \"another\"\n")
	if said := test(); !strings.Contains(said, "it says another") {
		t.Error("the program has changed: ", said)
	}
}

// What cannot be built is said.
func TestProgramFails(t *testing.T) {
	err := Program(exec.Command("go", "build", "-o", t.TempDir(), "./testdata/nothing"))
	if err == nil || !strings.Contains(err.Error(), "go build -o ") || !strings.Contains(err.Error(), "testdata/nothing") {
		t.Error(err)
	}
}
