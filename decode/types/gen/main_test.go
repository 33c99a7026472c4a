package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// What is checked in is what the required modules call for.
func TestRegistryIsCurrent(t *testing.T) {
	dir := t.TempDir()
	list, set := filepath.Join(dir, "list"), filepath.Join(dir, "set")
	flag.CommandLine = flag.NewFlagSet("gen", flag.ExitOnError) // that of the test has its own flags
	os.Args = []string{"gen", "-o", list, "-old", set}
	main() // which ends the test if it fails
	for kept, made := range map[string]string{"registry.go": list, "v2.fds": set} {
		want, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", kept))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go generate ./decode/types", kept)
		}
		if n := bytes.Count(want, []byte("\n\t_ ")); made == list && n < 400 {
			t.Errorf("only %d packages: were the modules found?", n)
		}
	}
}
