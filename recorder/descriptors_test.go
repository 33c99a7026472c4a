package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// someDescriptors do not compress, so that they need several frames.
func someDescriptors() []byte {
	b := make([]byte, 3*format.MaxSkippable)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(b)
	return b
}

// What a recording has of descriptors is there for each reader, in each segment, and
// in what is made of the recording.
func TestDescriptors(t *testing.T) {
	set := someDescriptors()
	l, write := rotating(t, Options{MaxSize: 1 << 20, Descriptors: set})
	for range 40 {
		write()
	}
	closeLog(t, l)
	if facts := l.Facts(); facts.Descriptors != string(set) {
		t.Error("the log does not know them")
	}
	for _, path := range segmentsOf(t, l.Path()) {
		has(t, path, set)
	}
	all, facts := readAll(t, l.Path())
	if facts.Descriptors != string(set) || len(all) == 0 || !facts.Complete {
		t.Errorf("%d entries, complete %v", len(all), facts.Complete)
	}
	file, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(bytes.NewReader(file))
	if _, err := drain(r); err != nil || r.Facts().Descriptors != string(set) {
		t.Errorf("through a pipe: %v", err)
	}

	copied := func(name string, o Options) string {
		path := filepath.Join(t.TempDir(), name)
		c, err := NewCopy(path, facts, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Add(&all[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	has(t, copied("copy.xdsp", Options{}), set)
	has(t, copied("other.xdsp", Options{Descriptors: []byte("others")}), []byte("others"))
	rescued := filepath.Join(t.TempDir(), "rescued.xdsp")
	if _, err := Salvage(t.Context(), l.Path(), rescued, nil); err != nil {
		t.Fatal(err)
	}
	has(t, rescued, set)

	if _, err := Create(filepath.Join(t.TempDir(), "large.xdsp"), Options{Descriptors: make([]byte, format.MaxDescriptors+1)}); err == nil {
		t.Error("any amount of them is taken")
	}
}

func has(t *testing.T, path string, set []byte) {
	t.Helper()
	if facts, err := Inspect(path); err != nil || facts.Descriptors != string(set) || facts.BadDescriptors {
		t.Errorf("%s has %d bytes of descriptors, want %d: %v", filepath.Base(path), len(facts.Descriptors), len(set), err)
	}
}

// Whatever becomes of the descriptors, the entries can be read; a reader that does
// not know these frames passes over them.
func TestDamagedDescriptors(t *testing.T) {
	l := create(t, Options{Descriptors: someDescriptors()})
	l.Append(message(1, "payload"))
	closeLog(t, l)
	file, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	var at []int // of their frames
	for i := 0; binary.LittleEndian.Uint32(file[i:]) != format.MagicBlock; {
		size := int(binary.LittleEndian.Uint32(file[i+4:]))
		if size > format.MaxSkippable {
			t.Fatalf("a frame of %d bytes, which older readers refuse", size)
		}
		if binary.LittleEndian.Uint32(file[i:]) == format.MagicDescriptors {
			at = append(at, i)
		}
		i += format.FrameHeadSize + size
	}
	if len(at) < 3 {
		t.Fatalf("%d frames", len(at))
	}
	for name, change := range map[string]func([]byte) []byte{
		"a bit":         func(b []byte) []byte { b[at[1]+100] ^= 1; return b },
		"a frame less":  func(b []byte) []byte { return append(b[:at[1]:at[1]], b[at[2]:]...) },
		"another frame": func(b []byte) []byte { b[at[0]] = 0x5e; return b },
	} {
		path := filepath.Join(t.TempDir(), "damaged.xdsp")
		if err := os.WriteFile(path, change(bytes.Clone(file)), 0o600); err != nil {
			t.Fatal(err)
		}
		all, facts := readAll(t, path)
		if facts.Descriptors != "" || !facts.BadDescriptors || !facts.Complete || len(all) < 1 || string(all[0].Message.Data.Bytes()) != "payload" {
			t.Errorf("%s: %d entries, %d bytes of descriptors, %v, complete %v", name, len(all), len(facts.Descriptors), facts.BadDescriptors, facts.Complete)
		}
	}
	// One that ends within them has no entries yet.
	for _, end := range []int{at[0] + 1, at[1], at[2] + 50} {
		_, err := NewReader(bytes.NewReader(file[:end])).Next(t.Context())
		if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "it ends within its header") {
			t.Errorf("cut at %d: %v", end, err)
		}
	}
}
