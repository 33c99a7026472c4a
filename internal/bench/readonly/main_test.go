package main

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/recorder"
)

const demo = "../../../check/testdata/sessions/demo.xdsp"

// printed is what the program prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	had, flags, stdout := os.Args, flag.CommandLine, os.Stdout
	defer func() { os.Args, flag.CommandLine, os.Stdout = had, flags, stdout }()
	os.Args, flag.CommandLine, os.Stdout = append([]string{"readonly"}, args...), flag.NewFlagSet("readonly", flag.ContinueOnError), out
	main()
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What is counted is what a recording has by its own account.
func TestEntries(t *testing.T) {
	facts, err := recorder.Inspect(demo)
	if err != nil || facts.Entries == 0 {
		t.Fatal(facts, err)
	}
	if got, want := printed(t, demo), strconv.FormatUint(facts.Entries, 10)+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	whole, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.xdsp")
	for i := len(whole) / 2; i < len(whole); i++ {
		whole[i] ^= 0x55
	}
	if err := os.WriteFile(damaged, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{damaged, demo + "s"} {
		if n, err := entries(file); err == nil || n != 0 {
			t.Errorf("%s: %d entries, %v", file, n, err)
		}
	}
}

// With -zstd it is the bytes of all blocks, and none of what zstd passes over.
func TestBytes(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	file := enc.EncodeAll([]byte(strings.Repeat("x", 1000)), []byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc"))
	file = enc.EncodeAll([]byte(strings.Repeat("y", 234)), file)
	path := filepath.Join(t.TempDir(), "blocks")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := printed(t, "-zstd", path); got != "1234\n" {
		t.Errorf("%q", got)
	}
	if err := os.WriteFile(path, file[:len(file)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, path + "s"} {
		if n, err := bytes(path); err == nil {
			t.Errorf("%s: %d bytes", path, n)
		}
	}
}
