package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"
)

func unpacked(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	set, err := io.ReadAll(z)
	if err != nil || len(set) == 0 {
		t.Fatalf("%d bytes, %v", len(set), err)
	}
	return set
}

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
	had, err := os.ReadFile("../v2.fds.gz")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(unpacked(t, had), unpacked(t, old)) { // compressed they differ from one Go to the next
		t.Error("v2.fds.gz is out of date: run go generate ./decode/types")
	}
	if n := bytes.Count(want, []byte("\n\t_ ")); n < 400 {
		t.Errorf("only %d packages: were the modules found?", n)
	}
}
