package mutant

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/recorder"
)

const recorded = "../../check/testdata/sessions/demo.xdsp"

// readAll returns how many entries there are, and what was wrong.
func readAll(b []byte) (entries int, whole bool, err error) {
	r := recorder.NewReader(bytes.NewReader(b))
	defer r.Close()
	for {
		if _, err := r.Next(context.Background()); errors.Is(err, io.EOF) {
			return entries, r.Facts().Complete, nil
		} else if err != nil {
			return entries, false, err
		}
		entries++
	}
}

// What was not changed is written as it was; and most of what was is read to
// its end, so that it gets as far as it is meant to.
func TestSoundIsRead(t *testing.T) {
	b, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := readAll(b)
	if err != nil || want == 0 {
		t.Fatal(want, err)
	}
	f, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for seed := range uint64(20) {
		out, err := f.write(rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		if n, _, err := readAll(out); err == nil && n != want {
			t.Errorf("%d entries of %d", n, want)
		} else if err == nil {
			whole++
		}
	}
	if whole < 10 { // in the others something lies
		t.Errorf("only %d of 20 are read", whole)
	}
	through := 0
	const all = 60
	for i := range uint64(all) {
		r := rand.New(rand.NewPCG(1, i))
		out, err := Sound(b, r)
		if err != nil {
			t.Fatal(err)
		}
		if n, _, err := readAll(out); err == nil && n > want/2 {
			through++
		}
		again, _ := Sound(b, rand.New(rand.NewPCG(1, i)))
		if !bytes.Equal(out, again) {
			t.Fatalf("%d is not the same twice", i)
		}
	}
	t.Logf("%d of %d are read to their end", through, all)
	if through < all/3 {
		t.Errorf("only %d of %d are read to their end", through, all)
	}
}

// The same seed gives the same mutant: a failure that a seed was told with can be had again. Of sound ones, whose
// compression may become another, what a reader makes of them is kept.
func TestSameSeedSameMutant(t *testing.T) {
	b, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var log []byte
	for i := range 40 {
		record := bytes.Repeat([]byte{0x0a, 2, 'a', byte(i)}, i/4) // a field of two bytes
		log = append(binary.BigEndian.AppendUint32(log, uint32(len(record))), record...)
	}
	var got strings.Builder
	sum := func(out []byte) string { return fmt.Sprintf("%d bytes, %x", len(out), sha256.Sum256(out))[:32] }
	for seed := range uint64(120) {
		rng := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, seed)) }
		short, long := []byte("a short text of one line\n"), b[:min(len(b), 4<<10)]
		fmt.Fprintf(&got, "%d: %s; %s; %s; %s", seed, sum(Raw(nil, rng(1))), sum(Raw(short, rng(2))), sum(Raw(long, rng(3))), sum(Log(log, rng(4))))
		out, err := Sound(b, rng(5))
		if err != nil {
			t.Fatal(err)
		}
		n, whole, err := readAll(out)
		fmt.Fprintf(&got, "; %d entries, %v, %v\n", n, whole, err)
	}
	golden.Is(t, "testdata/seeds.txt", got.String())
}

// What is doubled stays shorter than maxSize. By this seed it is one byte.
func TestDoubledIsBounded(t *testing.T) {
	for size, want := range map[int]int{maxSize - 2: maxSize - 1, maxSize - 1: maxSize - 1} {
		if got := len(rawOnce(make([]byte, size), rand.New(rand.NewPCG(216, 0)))); got != want {
			t.Errorf("of %d bytes come %d, want %d", size, got, want)
		}
	}
}
