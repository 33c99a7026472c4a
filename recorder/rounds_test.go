package recorder

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

var rounds = flag.Int("rounds", 1, "random recordings in TestTornAndDamagedAtRandom, fillings of the disk in TestFullFileSystem")

// random is a recording with random entries in random blocks, of one epoch or
// several, with or without indexes between them.
type random struct {
	b      []byte
	ends   []int // of the header, and of each block
	counts []int // entries up to there
	all    []session.Entry
}

func newRandom(t *testing.T, rng *rand.Rand) *random {
	t.Helper()
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{Program: "test"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	r := &random{ends: []int{len(m.b)}, counts: []int{0}}
	var seq session.Seq
	var known [][]byte
	for range 4 + rng.IntN(12) {
		for range 1 + rng.IntN(6) {
			seq += session.Seq(1 + rng.IntN(2))
			put(t, f, randomEntry(rng, seq, &known))
		}
		if rng.IntN(8) == 0 {
			f.Known.Full = true // another epoch after this block
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		r.ends, r.counts = append(r.ends, len(m.b)), append(r.counts, int(f.Entries))
		if rng.IntN(8) == 0 {
			if err := f.WriteIndex(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Finish(seq); err != nil {
		t.Fatal(err)
	}
	r.b = m.b
	if r.all, err = drain(NewReader(bytes.NewReader(r.b))); err != nil || len(r.all) != int(f.Entries) {
		t.Fatalf("a whole recording: %d entries, %v", len(r.all), err)
	}
	return r
}

// randomEntry is an entry of some kind; a message has new parts and known ones.
func randomEntry(rng *rand.Rand, seq session.Seq, known *[][]byte) session.Entry {
	e := session.Entry{Seq: seq, Conn: 1, Stream: session.StreamID(rng.IntN(40)), Side: session.Server}
	switch rng.IntN(6) {
	case 0:
		e.Kind, e.Headers = session.KindHeader, []session.Field{{Name: "x", Value: fmt.Sprint(rng.Uint64())}}
		return e
	case 1:
		e.Kind = session.KindTime
		return e
	}
	var c session.Chunks
	for range rng.IntN(6) {
		switch n := len(*known); {
		case n > 0 && rng.IntN(2) == 0:
			c = append(c, (*known)[rng.IntN(n)])
		default:
			b := make([]byte, 1+rng.IntN(400))
			for i := range b {
				b[i] = byte(rng.Uint32()) & byte(0xFF>>rng.IntN(2))
			}
			*known = append(*known, b)
			c = append(c, b)
		}
	}
	m := response(c)
	m.Seq, m.Stream = e.Seq, e.Stream
	return m
}

// upTo is how many entries are in blocks that are whole before at.
func (r *random) upTo(at int) int {
	n := 0
	for i, end := range r.ends {
		if end <= at {
			n = r.counts[i]
		}
	}
	return n
}

// A random recording, cut at every byte (at each sixteenth, if there is but one)
// of its last three blocks and what follows them, gives all that is before the cut, to a reader and to one that
// looks at its headers only; and damaged in any way it gives what it held and
// nothing else, up to the damage at least, and all around it when it is rescued.
func TestTornAndDamagedAtRandom(t *testing.T) {
	cuts, damages, unnoticed := 0, 0, 0
	stride, often := 1, 300
	if *rounds == 1 { // a taste of it
		stride, often = 16, 20
	}
	for round := range *rounds {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		r := newRandom(t, rng)
		for cut := r.ends[len(r.ends)-4]; cut < len(r.b); cut += stride {
			cuts++
			r.cutAt(t, cut)
		}
		r.cutAt(t, len(r.b))
		for range often {
			damages++
			if !r.damage(t, rng) {
				unnoticed++
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
	t.Logf("%d recordings cut at %d places; damaged %d times, %d of which changed nothing that is read", *rounds, cuts, damages, unnoticed)
}

func (r *random) cutAt(t *testing.T, cut int) {
	t.Helper()
	want, whole := r.all[:r.upTo(cut)], cut == len(r.b)
	reader := brieflyOf(t, &counted{b: r.b[:cut]})
	defer reader.Close()
	got, err := drain(reader)
	f := reader.Facts()
	if err != nil || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) || f.Complete != whole || f.Damaged {
		t.Errorf("cut at %d of %d: %d entries of %d, %v, %+v", cut, len(r.b), len(got), len(want), err, f)
	}
	s := survey{at: int64(r.ends[0]), facts: Facts{}}
	if err := s.run(&counted{b: r.b[:cut]}); err != nil || s.entries != uint64(len(want)) || s.facts.Complete != whole {
		t.Errorf("cut at %d of %d: headers of %d entries, of %d, %v", cut, len(r.b), s.entries, len(want), err)
	}
}

// damage changes some bits or bytes after the header, and says whether that was
// noticed.
func (r *random) damage(t *testing.T, rng *rand.Rand) (noticed bool) {
	t.Helper()
	bad, first := bytes.Clone(r.b), len(r.b)
	spoil := func(at int, change byte) {
		if at < len(bad) {
			bad[at] ^= change
			if bad[at] != r.b[at] {
				first = min(first, at)
			}
		}
	}
	for range 1 + rng.IntN(4) {
		at := r.ends[0] + rng.IntN(len(bad)-r.ends[0])
		switch rng.IntN(3) {
		case 0: // some bits near each other
			for range 2 + rng.IntN(16) {
				spoil(at+rng.IntN(16), 1<<rng.IntN(8))
			}
		case 1: // a stretch of nonsense
			for i := range 1 + rng.IntN(512) {
				spoil(at+i, byte(rng.Uint32()))
			}
		case 2: // a stretch of zeros, as a file system leaves behind
			for i := range 1 + rng.IntN(4096) {
				if at+i < len(bad) {
					spoil(at+i, bad[at+i])
				}
			}
		}
	}
	reader := NewReader(bytes.NewReader(bad))
	defer reader.Close()
	got, err := drain(reader)
	f := reader.Facts()
	noticed = err != nil || !f.Complete
	if !noticed && len(got) != len(r.all) || len(got) < r.upTo(first) || len(got) > len(r.all) ||
		len(got) > 0 && !reflect.DeepEqual(got, r.all[:len(got)]) {
		t.Errorf("damaged from %d on: %d entries, of %d before that and %d in all, %v, %+v", first, len(got), r.upTo(first), len(r.all), err, f)
	}
	rescued, _, done, err := rescue(t, bad)
	if err != nil {
		t.Errorf("damaged from %d on: cannot be rescued: %v", first, err)
	}
	byNumber := map[session.Seq]session.Entry{}
	for _, e := range r.all {
		byNumber[e.Seq] = e
	}
	there := 0
	for _, e := range rescued {
		if e.Kind == session.KindGap {
			continue
		}
		there++
		if len(e.Problems) == 0 && !reflect.DeepEqual(e, byNumber[e.Seq]) {
			t.Errorf("damaged from %d on: rescued entry %d is not what was written", first, e.Seq)
		}
	}
	if there < len(got) || there != int(done.Entries) {
		t.Errorf("damaged from %d on: %d entries are readable, %d rescued, %+v", first, len(got), there, done)
	}
	return noticed
}

// The headers of an index are kept as long as they are of no more than maxHeads.
func TestHeadersThatAreKept(t *testing.T) {
	f := &counted{b: newRandom(t, rand.New(rand.NewPCG(1, 2))).b}
	all := survey{keep: true}
	if err := all.run(f); err != nil || all.kept == 0 || len(all.heads) != len(all.places) {
		t.Fatalf("%d headers of %d places, %d bytes, %v", len(all.heads), len(all.places), all.kept, err)
	}
	for more, kept := range map[int]bool{0: true, 1: false} {
		s := survey{keep: true, kept: maxHeads - all.kept + more}
		if err := s.run(f); err != nil || (s.heads != nil) != kept || len(s.places) != len(all.places) {
			t.Errorf("%d bytes more than the bound: %d headers of %d places, %v", more, len(s.heads), len(s.places), err)
		}
	}
}
