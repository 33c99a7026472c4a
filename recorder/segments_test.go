package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// rotating is a log in small segments, each of which repeats the first entry and
// the newest push; write appends a push and waits until it is written.
func rotating(t *testing.T, o Options) (l *Log, write func() session.Entry) {
	t.Helper()
	var (
		all    = pushes(t, 100)
		mu     sync.Mutex
		newest session.Seq
		n      int
	)
	o.NoTicks = true
	if o.MaxSize == 0 && o.MaxAge == 0 {
		o.MaxSize = 40_000
	}
	o.Transform = func(e *session.Entry) { newest = e.Seq }
	o.Carry = func() []session.Seq { return []session.Seq{newest, 1, newest, 1 << 40} }
	l = create(t, o)
	return l, func() session.Entry {
		mu.Lock()
		defer mu.Unlock()
		e := response(append(session.Chunks{fmt.Appendf(nil, "push %d ", n), noise(2000 + n)[n:]}, all[n%100]...))
		n++
		e.Time = time.Unix(1e9+int64(n), 0).UTC()
		e.Seq = l.Append(e)
		settle(l)
		e.Message.Data = session.Chunks{e.Message.Data.Bytes()}
		return e
	}
}

// segmentsOf are the files of a recording, the oldest first.
func segmentsOf(t *testing.T, path string) []string {
	t.Helper()
	older, err := filepath.Glob(filepath.Join(filepath.Dir(path), "session.??????.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	return append(older, path)
}

func sameMessages(t *testing.T, got, want []session.Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d entries, not %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Seq != want[i].Seq || !bytes.Equal(got[i].Message.Data.Bytes(), want[i].Message.Data.Bytes()) {
			t.Fatalf("entry %d is not what was written as %d", got[i].Seq, want[i].Seq)
		}
	}
}

func TestRotation(t *testing.T) {
	l, write := rotating(t, Options{Masked: true, Program: "test"})
	var want []session.Entry
	for range 150 {
		want = append(want, write())
	}
	closeLog(t, l)
	files := segmentsOf(t, l.Path())
	if len(files) < 5 {
		t.Fatalf("only %d segments", len(files))
	}
	if n := l.Stats().Segment; n != uint64(len(files)) {
		t.Errorf("the last of %d segments is number %d", len(files), n)
	}
	got, facts := readAll(t, l.Path())
	sameMessages(t, got, want)
	if !facts.Complete || facts.Entries != 150 || facts.Lost != 0 || facts.Bytes != l.Stats().Bytes || !facts.Masked || facts.Program != "test" {
		t.Errorf("facts %+v, stats %+v", facts, l.Stats())
	}
	if inspected, err := Inspect(l.Path()); err != nil || !reflect.DeepEqual(inspected, facts) {
		t.Errorf("inspected: %v\n got %+v\nwant %+v", err, inspected, facts)
	}
	// Each is understood alone, and repeats what was asked for.
	seen := session.Seq(0)
	for i, path := range files {
		if i == len(files)-1 {
			break // it stands for all
		}
		got, facts := readAll(t, path)
		if !facts.Complete || facts.Bytes > 60_000 {
			t.Errorf("%s: %+v", path, facts)
		}
		for k, e := range got {
			if carried := i > 0 && k < 2; e.Carried != carried || !carried && e.Seq != seen+1 {
				t.Fatalf("%s: entry %d is %d, carried %v", path, k, e.Seq, e.Carried)
			} else if !carried {
				seen = e.Seq
			} else if e.Seq != []session.Seq{1, seen}[k] || !bytes.Equal(e.Message.Data.Bytes(), want[e.Seq-1].Message.Data.Bytes()) {
				t.Fatalf("%s repeats entry %d", path, e.Seq)
			}
		}
	}
	r := open(t, l.Path())
	for _, i := range rand.Perm(150)[:60] {
		if err := r.Seek(session.Seq(i + 1)); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if err := r.SeekTime(got[i].Time); err != nil {
				t.Fatal(err)
			}
		}
		for k := i; k < min(i+30, 150); k++ {
			e, err := r.Next(context.Background())
			if err != nil || !reflect.DeepEqual(e, got[k]) {
				t.Fatalf("after going to %d comes %d, not %d, %v", i+1, e.Seq, k+1, err)
			}
		}
	}
	if err := r.Seek(151); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestRotationKeeps(t *testing.T) {
	l, write := rotating(t, Options{Keep: 2})
	stranger := l.Path()[:len(l.Path())-len(".xdsp")] + ".000000.xdsp"
	if err := os.WriteFile(stranger, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var want []session.Entry
	for range 150 {
		want = append(want, write())
	}
	closeLog(t, l)
	if b, err := os.ReadFile(stranger); err != nil || string(b) != "mine" {
		t.Errorf("another's file: %q, %v", b, err)
	}
	if err := os.Remove(stranger); err != nil {
		t.Fatal(err)
	}
	if files := segmentsOf(t, l.Path()); len(files) != 3 {
		t.Errorf("%v are kept", files)
	}
	got, facts := readAll(t, l.Path())
	own := got[2:]
	if !got[0].Carried || !got[1].Carried || got[0].Seq != 1 || own[0].Carried {
		t.Fatalf("it begins with %d, %d, %d", got[0].Seq, got[1].Seq, own[0].Seq)
	}
	sameMessages(t, own, want[own[0].Seq-1:])
	if facts.Lost != uint64(own[0].Seq-1) || !facts.Complete {
		t.Errorf("%+v", facts)
	}
	if inspected, err := Inspect(l.Path()); err != nil || !reflect.DeepEqual(inspected, facts) {
		t.Errorf("inspected: %v\n got %+v\nwant %+v", err, inspected, facts)
	}
}

func TestRotationByAge(t *testing.T) {
	var mu sync.Mutex
	now := time.Unix(1e9, 0)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
	l, write := rotating(t, Options{MaxAge: 20 * time.Second, Now: clock})
	for range 100 {
		write()
	}
	closeLog(t, l)
	if n := len(segmentsOf(t, l.Path())); n < 3 || n > 50 {
		t.Errorf("%d segments", n)
	}
	if all, facts := readAll(t, l.Path()); len(all) != 100 || !facts.Complete {
		t.Errorf("%d entries, %+v", len(all), facts)
	}
}

// However old a segment grows, it is not ended before it has an entry of its own:
// a quiet proxy would fill the disk with what it carries over.
func TestQuietSegmentIsNotEnded(t *testing.T) {
	var now atomic.Int64
	l, write := rotating(t, Options{MaxAge: time.Minute, Now: func() time.Time { return time.Unix(1e9+now.Load(), 0) }})
	quiet := func(want int) {
		t.Helper()
		for range 3 {
			now.Add(3600)
			settle(l)
		}
		if n := len(segmentsOf(t, l.Path())); n != want {
			t.Errorf("%d segments, not %d", n, want)
		}
	}
	quiet(1)
	write()
	quiet(2)
}

// Readers follow from one segment to the next, however many there were.
func TestFollowRotation(t *testing.T) {
	l, write := rotating(t, Options{})
	var wg sync.WaitGroup
	got := make([][]session.Entry, 3)
	for i := range got {
		r := open(t, l.Path())
		r.Follow(true)
		wg.Go(func() {
			if i == 2 { // far behind
				_, _ = r.Next(context.Background())
				r.Follow(false)
				until(t, "much is written", func() bool { return l.Stats().Entries > 100 })
				if err := r.Seek(1); err != nil {
					t.Error(err)
				}
				r.Follow(true)
			}
			var err error
			if got[i], err = drain(r); err != nil || !r.Facts().Complete {
				t.Errorf("reader %d: %v, %+v", i, err, r.Facts())
			}
		})
	}
	var want []session.Entry
	for range 120 {
		want = append(want, write())
	}
	closeLog(t, l)
	wg.Wait()
	for i := range got {
		sameMessages(t, got[i], want)
	}
}

// Where another segment cannot begin, the old one grows on.
func TestRotationFails(t *testing.T) {
	l, write := rotating(t, Options{})
	if err := os.MkdirAll(filepath.Join(l.Path()+".next", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	var want []session.Entry
	for range 60 {
		want = append(want, write())
	}
	closeLog(t, l)
	got, facts := readAll(t, l.Path())
	sameMessages(t, got, want)
	if files := segmentsOf(t, l.Path()); len(files) != 1 || !facts.Complete {
		t.Errorf("%v, %+v", files, facts)
	}
}

// A segment of another recording is neither read nor replaced.
func TestRotationAmongStrangers(t *testing.T) {
	l, write := rotating(t, Options{})
	stranger := l.Path()[:len(l.Path())-len(".xdsp")] + ".000001.xdsp"
	if err := os.WriteFile(stranger, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var want []session.Entry
	for range 60 {
		want = append(want, write())
	}
	closeLog(t, l)
	got, facts := readAll(t, l.Path())
	sameMessages(t, got, want)
	if b, _ := os.ReadFile(stranger); string(b) != "mine" || !facts.Complete {
		t.Errorf("%q, %+v", b, facts)
	}
}

// What was masked stays so when it is repeated, and is not masked twice.
func TestRotationAndMasks(t *testing.T) {
	count := 0
	l := create(t, Options{
		NoTicks: true, MaxSize: 20_000, Carry: func() []session.Seq { return []session.Seq{1} },
		Content: func(b []byte) []byte {
			count++
			return bytes.ReplaceAll(b, []byte("secret"), []byte("masked"))
		},
	})
	secret := bytes.Repeat([]byte("secret "), 10)
	l.Append(response(session.Chunks{secret}))
	for i := range 30 {
		l.Append(response(session.Chunks{noise(3000 + i)[i:]}))
		until(t, "it is written", func() bool { return l.Stats().Queued == 0 })
	}
	closeLog(t, l)
	files := segmentsOf(t, l.Path())
	if len(files) < 3 || count != 31 {
		t.Fatalf("%v, masked %d times", files, count)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(bytes.NewReader(b))
		e, err := r.Next(context.Background())
		if err != nil || e.Seq != 1 || !e.Message.Masked || !bytes.HasPrefix(e.Message.Data.Bytes(), []byte("masked masked")) {
			t.Errorf("%s begins with %d, %v", path, e.Seq, err)
		}
		_ = r.Close()
	}
}

// meanwhile is a file whose writer does more between a reader's look and its
// question whether the writer is there.
type meanwhile struct {
	file
	write func()
}

func (m *meanwhile) waits() bool {
	m.write()
	return m.file.waits()
}

// A segment that gets more, its end and a successor between a look and the
// question is read to its end.
func TestSegmentEndsAfterTheLook(t *testing.T) {
	l, write := rotating(t, Options{})
	var want []session.Entry
	for range 3 {
		want = append(want, write())
	}
	r := readerFrom(t, l)
	got := next(t, r, len(want))
	src := r.src.(*fileSource)
	src.file = &meanwhile{src.file, func() {
		for len(segmentsOf(t, l.Path())) < 2 {
			want = append(want, write())
		}
	}}
	got = append(got, next(t, r, len(want)-len(got)+1)...)
	closeLog(t, l)
	rest, err := drain(r)
	all, facts := readAll(t, l.Path())
	if got = append(got, rest...); err != nil || !reflect.DeepEqual(got, all) {
		t.Errorf("the reader gives %d entries, the file %d, %v", len(got), len(all), err)
	}
	if f := r.Facts(); !f.Complete || !reflect.DeepEqual(f, facts) {
		t.Errorf("facts of the reader: %+v, of the file: %+v", f, facts)
	}
}
