package serve

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// cutter forwards connections, and cuts each after some bytes.
type cutter struct {
	net.Listener
	cuts    atomic.Int64
	working sync.WaitGroup
}

// cutting stands before a unix socket. Each connection gets a number of bytes
// that allow chooses for it, none if 0.
func cutting(t *testing.T, path string, allow func(n int64) int64) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l}
	c.working.Go(func() {
		for n := int64(0); ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			bytes := allow(n)
			c.working.Go(func() { c.forward(conn, path, bytes) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.working.Wait()
	})
	return c
}

func (c *cutter) forward(down net.Conn, path string, n int64) {
	defer down.Close()
	up, err := net.Dial("unix", path)
	if err != nil {
		return
	}
	defer up.Close()
	c.working.Go(func() {
		_, _ = io.Copy(up, down)
		_ = up.Close()
	})
	if n > 0 {
		_, err = io.CopyN(down, up, n)
	} else {
		_, err = io.Copy(down, up)
	}
	if err == nil {
		c.cuts.Add(1)
	}
}

// However often the connection is cut, nothing is missing and nothing comes
// twice. Two connections of three bring something.
func TestConnectionThatIsCut(t *testing.T) {
	for name, o := range map[string]recorder.Options{
		"file": {}, "segments": {MaxSize: 100 << 10}, "memory": {Memory: 64 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			log, f := newLog(t, o, o.Memory > 0), newTraffic()
			path := filepath.Join(t.TempDir(), "v.sock")
			l, err := ListenUnix(path)
			if err != nil {
				t.Fatal(err)
			}
			s := New(Config{Log: log})
			s.Serve(l, "")
			t.Cleanup(func() { s.Close(0) })
			write(t, log, f, 100)
			rng := rand.New(rand.NewPCG(3, 4))
			between := cutting(t, path, func(n int64) int64 {
				if n == 0 {
					return 0 // that of Dial
				}
				return rng.Int64N(3*chunkSize) + 1
			})
			var lost, back int
			opts := quick()
			opts.State = func(s State) {
				if s.Detached.IsZero() {
					back++
				} else if lost++; s.Retry < 1 || s.Cause == nil {
					t.Errorf("%+v", s)
				}
			}
			c := dial(t, "tcp", between.Addr().String(), opts)
			from := session.Seq(40)
			r := c.Open(from, 0)
			r.Follow(true)
			var got []session.Entry
			var reading sync.WaitGroup
			reading.Go(func() {
				var err error
				if got, err = all(r); err != nil {
					t.Error(err)
				}
			})
			for range 5 {
				write(t, log, f, 40)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			reading.Wait()
			want, _ := own(t, log)
			same(t, "over cut connections", got, want[from-1:])
			if n := between.cuts.Load(); n < 5 || lost < 5 || back < 5 {
				t.Errorf("%d cuts, lost %d times, back %d times", n, lost, back)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// fails says whether an error is that failure of a Client, in its words and in no other:
// people know of no segment that could not be read.
func fails(err error, kind Kind) bool {
	failure, is := errors.AsType[*Error](err)
	return is && failure.Kind == kind && failure.Error() == err.Error()
}

// A server that ends and comes back with the same log is the same to a viewer;
// with another log it is not.
func TestServerThatComesBack(t *testing.T) {
	log, f := newLog(t, recorder.Options{}, false), newTraffic()
	path := filepath.Join(t.TempDir(), "v.sock")
	start := func(log *recorder.Log) *Server {
		l, err := ListenUnix(path)
		if err != nil {
			t.Fatal(err)
		}
		s := New(Config{Log: log})
		s.Serve(l, "")
		return s
	}
	s := start(log)
	write(t, log, f, 30)
	c := dial(t, "unix", path, quick())
	r := c.Open(0, 0)
	defer r.Close()
	r.Follow(true)
	var got []session.Entry
	for range 5 {
		for range 30 {
			e, err := r.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		s.Close(0)
		write(t, log, f, 30)
		s = start(log)
	}
	want, _ := own(t, log)
	same(t, "over five servers", got, want[:150])

	s.Close(0)
	other := newLog(t, recorder.Options{}, false)
	s = start(other)
	defer s.Close(0)
	if rest, err := all(r); !fails(err, OtherRecording) {
		t.Errorf("%d entries, %v", len(rest), err)
	}
	if _, err := r.Next(context.Background()); !fails(err, OtherRecording) {
		t.Errorf("and again: %v", err)
	}
}

// A proxy that does not come back is given up.
func TestServerThatIsGone(t *testing.T) {
	log, f := newLog(t, recorder.Options{}, false), newTraffic()
	opts := quick()
	opts.GiveUp = 50 * time.Millisecond
	s, c := served(t, log, "unix", opts)
	write(t, log, f, 1)
	r := c.Open(0, 0)
	defer r.Close()
	r.Follow(true)
	if _, err := r.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.Close(0)
	for range 2 {
		if _, err := r.Next(context.Background()); !fails(err, Lost) {
			t.Error(err)
		}
	}
	// Nor does it matter who waits for it when.
	s, c = served(t, log, "unix", quick())
	r = c.Open(0, 0)
	defer r.Close()
	r.Follow(true)
	if _, err := r.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.Close(0)
	ctx, cancel := context.WithCancel(context.Background())
	c.o.State = func(State) { cancel() }
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
