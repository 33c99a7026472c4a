package main

import (
	"bytes"
	"os"
	"testing"
)

// The list that is checked in is the one that the required modules call for.
func TestRegistryIsCurrent(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../registry.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("registry.go is out of date: run go generate ./decode/types")
	}
	if n := bytes.Count(want, []byte("\n\t_ ")); n < 500 {
		t.Errorf("only %d packages: were the modules found?", n)
	}
}
