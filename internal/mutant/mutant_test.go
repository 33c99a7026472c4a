package mutant

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

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
	want, _, _ := readAll(b)
	f, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		out, err := f.write(rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		if n, _, err := readAll(out); err == nil && n != want {
			t.Errorf("%d entries of %d", n, want)
		}
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
