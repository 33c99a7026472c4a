package recorder

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// fed reads a segment of a log as somebody elsewhere would, whose connection is
// cut after every few bytes.
type fed struct {
	t    *testing.T
	log  *Log
	o    FeedOptions
	rng  *rand.Rand // nil: nothing is cut
	feed *Feed
}

func (f *fed) Read(p []byte) (int, error) {
	if f.feed == nil {
		var err error
		if f.feed, err = f.log.Feed(f.o); err != nil {
			if f.o.After.Segment > 0 && errors.Is(err, fs.ErrNotExist) {
				err = io.EOF // it was deleted meanwhile
			}
			return 0, err
		}
	}
	if f.rng != nil {
		p = p[:min(len(p), 1+f.rng.IntN(5000))]
	}
	n, err := f.feed.Read(context.Background(), p)
	if f.rng != nil {
		f.o.After = f.feed.Mark()
		if cerr := f.Close(); cerr != nil {
			f.t.Error(cerr)
		}
	}
	return n, err
}

func (f *fed) Close() (err error) {
	if f.feed != nil {
		err, f.feed = f.feed.Close(), nil
	}
	return err
}

// elsewhere reads a log through feeds.
func elsewhere(t *testing.T, l *Log, o FeedOptions, rng *rand.Rand) *Reader {
	t.Helper()
	r := NewSegments(o.From, func(n uint64) io.ReadCloser {
		o := o
		o.Segment = n
		return &fed{t: t, log: l, o: o, rng: rng}
	})
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// logs are of each form: in one piece, in segments of which some were deleted, in
// memory; and what their own reader gives.
func logs(t *testing.T) map[string]*Log {
	t.Helper()
	single := create(t, Options{NoTicks: true, Masked: true, Program: "test"})
	for i, all := 0, pushes(t, 50); i < 50; i++ {
		hasten(t, single, pushAt(all, i))
		hasten(t, single, message(2, string(noise(i))))
	}
	whole, write := rotating(t, Options{})
	for range 40 {
		write()
	}
	kept, write := rotating(t, Options{Keep: 2})
	for range 60 {
		write()
	}
	ring, put := ringOf(t, Options{NoTicks: true, Memory: 200 << 10})
	for i, all := 0, pushes(t, 50); i < 100; i++ {
		put(pushAt(all, i))
		put(message(2, string(noise(3000+i))))
	}
	return map[string]*Log{"single": single, "segments": whole, "kept": kept, "ring": ring}
}

func TestFeedsGiveWhatAReaderGives(t *testing.T) {
	for name, l := range logs(t) {
		t.Run(name, func(t *testing.T) {
			check := func(rng *rand.Rand) {
				t.Helper()
				own := readerFrom(t, l)
				want, err := drain(own)
				if err != nil || len(want) < 10 {
					t.Fatalf("%d entries, %v", len(want), err)
				}
				r := elsewhere(t, l, FeedOptions{}, rng)
				got, err := drain(r)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%d entries of %d, or others, %v", len(got), len(want), err)
				}
				facts, ours := own.Facts(), r.Facts()
				ours.Path, ours.Bytes = facts.Path, facts.Bytes // which are of the file
				if !reflect.DeepEqual(ours, facts) {
					t.Errorf("facts from elsewhere: %+v, of the log's reader: %+v", ours, facts)
				}
				ours = l.Facts()
				ours.Bytes = facts.Bytes
				if !reflect.DeepEqual(ours, facts) {
					t.Errorf("facts of the log: %+v, of its reader: %+v", ours, facts)
				}
				for _, i := range []int{1, len(want) / 3, len(want) / 2, len(want) - 1} {
					from, to := want[i].Seq, want[min(i+7, len(want)-1)].Seq
					some, err := drain(elsewhere(t, l, FeedOptions{From: from, To: to}, rng))
					if err != nil || len(some) < min(8, len(want)-i) || !reflect.DeepEqual(some, want[i:i+min(len(some), len(want)-i)]) {
						t.Errorf("%d to %d: %d entries, or others, %v", from, to, len(some), err)
					}
				}
			}
			check(nil)
			check(rand.New(rand.NewPCG(1, 2)))
			closeLog(t, l)
			check(nil)
			check(rand.New(rand.NewPCG(3, 4)))
			if l.Path() == "" {
				return
			}
			inspected, err := Inspect(l.Path())
			if err != nil || !reflect.DeepEqual(l.Facts(), inspected) {
				t.Errorf("facts of the log: %+v, as Inspect finds them: %+v, %v", l.Facts(), inspected, err)
			}
		})
	}
}

// A feed that begins late reads little: the blocks with content, and those after.
func TestFeedLeavesOutWhatIsNotNeeded(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	for i := range 200 {
		hasten(t, l, message(1, string(noise(2000 + i)[i:i+20]))) // too short to be content
	}
	size := func(o FeedOptions) int64 {
		n, err := io.Copy(io.Discard, &fed{t: t, log: l, o: o})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if all, late := size(FeedOptions{}), size(FeedOptions{From: 199}); late > all/20 {
		t.Errorf("%d bytes of %d for two entries of 200", late, all)
	}
}

// A feed is the last one if no later segment has what is wanted; without a bound all of it
// is.
func TestLastFeed(t *testing.T) {
	l, write := rotating(t, Options{})
	for range 40 {
		write()
	}
	closeLog(t, l)
	var firsts []session.Seq // of each segment
	for n := uint64(1); ; n++ {
		f, err := l.segment(n, 0)
		if err != nil {
			break
		}
		firsts = append(firsts, f.header.First)
		_ = f.Close()
	}
	if len(firsts) < 3 {
		t.Fatalf("%d segments", len(firsts))
	}
	for _, c := range []struct {
		segment uint64
		to      session.Seq
		last    bool
	}{
		{1, 0, false},
		{1, 1, true},
		{1, firsts[1] - 1, true},
		{1, firsts[1], false},
		{1, 1 << 40, false},
		{uint64(len(firsts)), 0, true},
		{uint64(len(firsts)), 1 << 40, true},
		{uint64(len(firsts)) - 1, 0, false},
	} {
		f, err := l.Feed(FeedOptions{Segment: c.segment, To: c.to})
		if err != nil {
			t.Fatal(err)
		}
		if f.Last() != c.last {
			t.Errorf("segment %d of %d, up to %d: it is the last: %v", c.segment, len(firsts), c.to, !c.last)
		}
		_ = f.Close()
	}
}

// Segments that are deleted while somebody reads are told of as lost.
func TestFeedOfWhatIsDeleted(t *testing.T) {
	l, write := rotating(t, Options{Keep: 1})
	for range 5 {
		write()
	}
	r := elsewhere(t, l, FeedOptions{Follow: true}, rand.New(rand.NewPCG(5, 6)))
	var got []session.Entry
	got = append(got, next(t, r, 3)...)
	for range 60 {
		write()
	}
	closeLog(t, l)
	r.Follow(true)
	rest, err := drain(r)
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, rest...)
	facts := r.Facts()
	if facts.Lost == 0 || facts.LastSeq != 65 {
		t.Errorf("%d entries, %+v", len(got), facts)
	}
	for i := range got[1:] {
		if got[i+1].Seq <= got[i].Seq {
			t.Fatalf("entry %d after entry %d", got[i+1].Seq, got[i].Seq)
		}
	}
	if facts.Entries+facts.Lost < 65 {
		t.Errorf("%d entries and %d lost, of 65", facts.Entries, facts.Lost)
	}
}

// Marks come back from elsewhere, and may be anything.
func TestFeedRefusesStrangeMarks(t *testing.T) {
	for name, l := range logs(t) {
		size := l.Facts().Bytes
		rng := rand.New(rand.NewPCG(7, 8))
		for range 2000 {
			m := Mark{Segment: rng.Uint64N(4), At: rng.Int64N(2 * size), Entries: rng.Uint64(), Skip: rng.Int64N(2*size) - size/2}
			f, err := l.Feed(FeedOptions{After: m, From: session.Seq(rng.Uint64()), To: session.Seq(rng.Uint64())})
			if err == nil {
				_, err = f.Read(context.Background(), make([]byte, 1<<10))
				_ = f.Close()
			}
			if err != nil && !isDamage(err) && !errors.Is(err, ErrMark) && !errors.Is(err, io.EOF) && !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("%s, %+v: %v", name, m, err)
			}
		}
	}
}

// A feed holds up nobody, and what is not read of it is held by nobody.
func TestFeedThatIsNotRead(t *testing.T) {
	l, write := rotating(t, Options{Keep: 1})
	write()
	f, err := l.Feed(FeedOptions{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 60 {
		write() // which waits until it is written
	}
	if n := l.Stats(); n.Lost > 0 || n.Entries != 61 {
		t.Errorf("%+v", n)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if n := l.tail.readers.Load(); n != 0 {
		t.Errorf("%d readers are left", n)
	}
	if _, err := os.Stat(l.Path()); err != nil {
		t.Error(err)
	}
}
