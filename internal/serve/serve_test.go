package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "a token of some length"

// quick are options of a client that does not wait.
func quick() Options {
	return Options{Token: secret, MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond}
}

// traffic makes messages of which each repeats most of the one before.
type traffic struct {
	rng       *rand.Rand
	resources session.Chunks
	n         int
}

func newTraffic() *traffic { return &traffic{rng: rand.New(rand.NewPCG(1, 2))} }

func (f *traffic) next() session.Entry {
	f.n++
	noise := make([]byte, 200+f.rng.IntN(3000))
	for i := range noise {
		noise[i] = byte(f.rng.Uint32())
	}
	if len(f.resources) < 20 {
		f.resources = append(f.resources, noise)
	} else {
		f.resources[f.rng.IntN(20)] = noise
	}
	data := append(session.Chunks{fmt.Appendf(nil, "push %d", f.n)}, f.resources...)
	return session.Entry{
		Conn: 1, Stream: 2, Side: session.Server, Kind: session.KindMessage,
		Message: &session.Message{Size: data.Len(), Data: data},
	}
}

// write appends n messages and waits until they are written.
func write(t *testing.T, l *recorder.Log, f *traffic, n int) {
	t.Helper()
	for range n {
		l.Append(f.next())
	}
	settle(t, l)
}

func settle(t *testing.T, l *recorder.Log) {
	t.Helper()
	until(t, "all is written", func() bool { return l.Stats().Queued == 0 })
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 6000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("in vain: %s", what)
}

// newLog is a log in a file, in segments, or in memory.
func newLog(t *testing.T, o recorder.Options, inMemory bool) *recorder.Log {
	t.Helper()
	var (
		l   *recorder.Log
		err error
	)
	o.Program, o.Masked, o.NoTicks = "test", true, true // what is counted is what was appended
	if inMemory {
		l, err = recorder.NewRing(o)
	} else {
		l, err = recorder.Create(filepath.Join(t.TempDir(), "s.xdsp"), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// listen is on a unix socket or, with a token, on TCP.
func listen(t *testing.T, network string) (net.Listener, string) {
	t.Helper()
	if network == "unix" {
		l, err := ListenUnix(filepath.Join(t.TempDir(), "v.sock"))
		if err != nil {
			t.Fatal(err)
		}
		return l, ""
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l, secret
}

// served serves a log and dials it.
func served(t *testing.T, log *recorder.Log, network string, o Options) (*Server, *Client) {
	t.Helper()
	s := New(Config{Log: log, Program: "test", Pairs: []Pair{{"127.0.0.1:1", "127.0.0.1:2"}}})
	l, token := listen(t, network)
	s.Serve(l, token)
	t.Cleanup(func() { s.Close(0) })
	return s, dial(t, l.Addr().Network(), l.Addr().String(), o)
}

func dial(t *testing.T, network, address string, o Options) *Client {
	t.Helper()
	c, err := Dial(context.Background(), network, address, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// all reads to the end.
func all(r interface {
	Next(context.Context) (session.Entry, error)
},
) (out []session.Entry, err error) {
	for {
		e, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
}

// own is what a reader of the log itself gives.
func own(t *testing.T, l *recorder.Log) ([]session.Entry, recorder.Facts) {
	t.Helper()
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := all(r)
	if err != nil {
		t.Fatal(err)
	}
	return out, r.Facts()
}

func same(t *testing.T, what string, got, want []session.Entry) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s: entry %d is not entry %d of the log", what, got[i].Seq, want[i].Seq)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d entries of %d", what, len(got), len(want))
	}
}

// Viewers that come before, while and after something is written see what a
// reader of the log sees, entry by entry, and its end.
func TestViewersSeeWhatIsWritten(t *testing.T) {
	for name, o := range map[string]recorder.Options{
		"file": {}, "segments": {MaxSize: 100 << 10}, "memory": {Memory: 64 << 20},
	} {
		for _, network := range []string{"unix", "tcp"} {
			t.Run(name+" "+network, func(t *testing.T) {
				log, f := newLog(t, o, o.Memory > 0), newTraffic()
				server, c := served(t, log, network, quick())
				var viewers sync.WaitGroup
				got := make([][]session.Entry, 3)
				facts := make([]recorder.Facts, 3)
				for i := range got {
					write(t, log, f, 50)
					viewers.Go(func() {
						r := c.Open(0, 0)
						r.Follow(true)
						var err error
						if got[i], err = all(r); err != nil {
							t.Error(err)
						}
						facts[i] = r.Facts()
						if err := r.Close(); err != nil {
							t.Error(err)
						}
					})
				}
				write(t, log, f, 50)
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
				viewers.Wait()
				want, theirs := own(t, log)
				for i := range got {
					same(t, fmt.Sprintf("viewer %d", i), got[i], want)
					facts[i].Path, facts[i].Bytes = theirs.Path, theirs.Bytes
					if !facts[i].Complete || !reflect.DeepEqual(facts[i], theirs) {
						t.Errorf("facts of viewer %d: %+v, of the log: %+v", i, facts[i], theirs)
					}
				}
				info, err := c.Refresh(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if info.Facts.Path == "memory" {
					info.Facts.Path = ""
				}
				info.Facts.Bytes = theirs.Bytes
				if !reflect.DeepEqual(info.Facts, theirs) || info.Pairs[0] != (Pair{"127.0.0.1:1", "127.0.0.1:2"}) || info.Program != "test" {
					t.Errorf("%+v, not %+v", info, theirs)
				}
				server.Close(time.Hour) // with nobody there it takes no time
			})
		}
	}
}

// A part is what there is of it, also where it begins and ends within a block.
func TestParts(t *testing.T) {
	log, f := newLog(t, recorder.Options{MaxSize: 200 << 10}, false), newTraffic()
	_, c := served(t, log, "unix", quick())
	for range 10 {
		write(t, log, f, 30)
	}
	want, _ := own(t, log)
	for _, part := range [][2]session.Seq{{1, 1}, {1, 300}, {2, 31}, {17, 44}, {150, 299}, {300, 300}, {290, 0}, {301, 400}, {0, 7}} {
		from, to := part[0], part[1]
		r := c.Open(from, to)
		got, err := all(r)
		if err != nil {
			t.Fatal(err)
		}
		if to == 0 || to > 300 {
			to = 300
		}
		same(t, fmt.Sprint(part), got, want[max(from, 1)-1:max(to, max(from, 1)-1)])
		if lost := r.Facts().Lost; lost > 0 {
			t.Errorf("%v: %d are told of as lost", part, lost)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What has been deleted when a viewer gets there is counted.
func TestViewerThatFallsBehind(t *testing.T) {
	log, f := newLog(t, recorder.Options{Memory: 400 << 10}, true), newTraffic()
	_, c := served(t, log, "unix", quick())
	write(t, log, f, 5)
	r := c.Open(0, 0)
	defer r.Close()
	r.Follow(true)
	if e, err := r.Next(context.Background()); err != nil || e.Seq != 1 {
		t.Fatal(e.Seq, err)
	}
	for range 40 {
		write(t, log, f, 25)
	}
	_ = log.Close()
	got, err := all(r)
	if err != nil {
		t.Fatal(err)
	}
	facts := r.Facts()
	if facts.Lost == 0 || uint64(len(got))+1+facts.Lost != 1005 || facts.LastSeq != 1005 {
		t.Errorf("%d entries, %+v", len(got), facts)
	}
}

// A viewer that does not read costs the writer nothing, and the others neither.
func TestSlowViewer(t *testing.T) {
	log, f := newLog(t, recorder.Options{MaxSize: 4 << 20}, false), newTraffic()
	_, c := served(t, log, "tcp", quick())
	write(t, log, f, 1)
	var slow []*Reader
	for range 3 {
		r := c.Open(0, 0)
		defer r.Close()
		r.Follow(true)
		if _, err := r.Next(context.Background()); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, r)
	}
	for range 20 {
		write(t, log, f, 200) // which returns when all is written, read or not
	}
	if s := log.Stats(); s.Lost > 0 || s.Entries != 4001 {
		t.Errorf("%+v", s)
	}
	want, _ := own(t, log)
	swift := c.Open(0, 0)
	defer swift.Close()
	got, err := all(swift)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the swift viewer", got, want)
	_ = log.Close()
	for _, r := range slow { // and they get it all, when they care to
		got, err := all(r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "a slow viewer", got, want[1:])
	}
}

// The context of Next ends a wait, and nothing is left of it.
func TestNextIsInterrupted(t *testing.T) {
	log, f := newLog(t, recorder.Options{}, false), newTraffic()
	_, c := served(t, log, "unix", quick())
	write(t, log, f, 1)
	r := c.Open(0, 0)
	r.Follow(true)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			e, err := r.Next(ctx)
			if err == nil {
				time.AfterFunc(10*time.Millisecond, cancel) // it waits then
				continue
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("entry %d, %v", e.Seq, err)
			}
			return
		}
	})
	waiting.Wait()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Who does not follow may ask again later, and go anywhere.
func TestGoingOnAndSeeking(t *testing.T) {
	for name, o := range map[string]recorder.Options{"file": {}, "segments": {MaxSize: 100 << 10}} {
		t.Run(name, func(t *testing.T) {
			log, f := newLog(t, o, false), newTraffic()
			_, c := served(t, log, "unix", quick())
			r := c.Open(0, 0)
			defer r.Close()
			var got []session.Entry
			more := func(n int) {
				t.Helper()
				some, err := all(r)
				if err != nil || len(some) != n {
					t.Fatalf("%d entries of %d, %v", len(some), n, err)
				}
				got = append(got, some...)
			}
			more(0)
			for range 5 {
				write(t, log, f, 20)
				more(20)
				more(0)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			more(0)
			more(0)
			if !r.Facts().Complete {
				t.Errorf("%+v", r.Facts())
			}
			want, _ := own(t, log)
			same(t, "in parts", got, want)
			for _, seq := range []session.Seq{50, 3, 99, 1, 100, 101} {
				if err := r.Seek(seq); err != nil {
					t.Fatal(err)
				}
				got, err := all(r)
				if err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprint("from ", seq), got, want[seq-1:])
			}
		})
	}
}

// Segments that begin while somebody asks for more, again and again, come in order
// and as a whole.
func TestAskingWhileSegmentsBegin(t *testing.T) {
	log, f := newLog(t, recorder.Options{MaxSize: 20 << 10}, false), newTraffic()
	_, c := served(t, log, "unix", quick())
	r := c.Open(0, 0)
	defer r.Close()
	var writing sync.WaitGroup
	writing.Go(func() {
		for range 40 {
			for range 20 {
				log.Append(f.next())
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	var got []session.Entry
	for range 20_000 {
		if r.Facts().Complete && len(got) >= 800 {
			break
		}
		some, err := all(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, some...)
		time.Sleep(time.Millisecond)
		if t.Failed() {
			break
		}
	}
	writing.Wait()
	want, _ := own(t, log)
	same(t, "asked for again and again", got, want)
	if lost := r.Facts().Lost; lost > 0 {
		t.Errorf("%d are told of as lost", lost)
	}
}
