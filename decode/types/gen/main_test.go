package main

import (
	"bytes"
	"os"
	"testing"
)

// The list that is checked in is the one that the required modules call for.
func TestRegistryIsCurrent(t *testing.T) {
	want, old, err := generate()
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
	had, err := os.ReadFile("../v2.fds")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(had, old) {
		t.Error("v2.fds is out of date: run go generate ./decode/types")
	}
	if n := bytes.Count(want, []byte("\n\t_ ")); n < 400 {
		t.Errorf("only %d packages: were the modules found?", n)
	}
}
