package ranges

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// object counts what is read of it, and fails where it is told to.
type object struct {
	b      []byte
	fails  []error // of the next requests; nil works
	closed bool
}

func (o *object) ReadAt(p []byte, at int64) (int, error) {
	if len(o.fails) > 0 {
		err := o.fails[0]
		o.fails = o.fails[1:]
		if err != nil {
			return 0, err
		}
	}
	return bytes.NewReader(o.b).ReadAt(p, at)
}

func bytesOf(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func open(t *testing.T, o *object, opt Options) *File {
	t.Helper()
	f := New(t.Context(), o, int64(len(o.b)), func() error { o.closed = true; return nil }, opt)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Whatever is read in whatever order is what is there, and memory is bounded.
func TestSameBytes(t *testing.T) {
	b := bytesOf(11<<20 + 12345)
	f, rng := open(t, &object{b: b}, Options{}), rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		at := rng.Int64N(int64(len(b) + 10))
		p := make([]byte, rng.IntN(300_000))
		if rng.IntN(4) == 0 {
			f.Expect(at, rng.Int64N(3<<20))
		}
		if rng.IntN(50) == 0 {
			f.Park()
		}
		n, err := f.ReadAt(p, at)
		want := b[min(at, int64(len(b))):min(at+int64(len(p)), int64(len(b)))]
		if !bytes.Equal(p[:n], want) || (err == nil) != (n == len(p)) || err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%d bytes from %d on: %d, %v", len(p), at, n, err)
		}
		if held := len(f.chunks) * chunk; held > keep+chunk {
			t.Fatalf("%d bytes in memory", held)
		}
	}
}

// Who reads on is given ever longer ranges; who jumps is not.
func TestRequests(t *testing.T) {
	b := bytesOf(32 << 20)
	f := open(t, &object{b: b}, Options{})
	for at := int64(0); at < int64(len(b)); at += 8 << 10 {
		if _, err := f.ReadAt(make([]byte, 8<<10), at); err != nil {
			t.Fatal(err)
		}
	}
	if n, got := f.Fetched(); n > 32+6 || got != int64(len(b)) {
		t.Errorf("%d requests and %d bytes for %d bytes in order", n, got, len(b))
	}
	f = open(t, &object{b: b}, Options{})
	for i := range int64(100) {
		if _, err := f.ReadAt(make([]byte, 100), (i*7919*1009)%int64(len(b)-100)); err != nil {
			t.Fatal(err)
		}
	}
	if n, got := f.Fetched(); n > 200 || got > 200*chunk {
		t.Errorf("%d requests and %d bytes for 100 jumps", n, got)
	}
	f = open(t, &object{b: b}, Options{})
	f.Expect(5<<20+100, 900<<10)
	for at := int64(5<<20 + 100); at < 5<<20+900<<10; at += 32 << 10 {
		if _, err := f.ReadAt(make([]byte, 1000), at); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := f.Fetched(); n != 1 {
		t.Errorf("%d requests for what was expected", n)
	}
}

var errBusy, errGone = errors.New("busy"), errors.New("gone")

func TestTries(t *testing.T) {
	told := 0
	opt := Options{Pause: time.Microsecond, Wait: func(error) { told++ }, Temporary: func(err error) bool { return errors.Is(err, errBusy) }}
	o := &object{b: bytesOf(100), fails: []error{errBusy, errBusy, io.EOF, nil}}
	opt.Temporary = func(err error) bool { return errors.Is(err, errBusy) || errors.Is(err, io.ErrUnexpectedEOF) }
	if _, err := open(t, o, opt).ReadAt(make([]byte, 100), 0); err != nil || told != 3 {
		t.Fatalf("%v, told %d times", err, told)
	}
	o = &object{b: bytesOf(100), fails: []error{errBusy, errGone, nil}}
	if _, err := open(t, o, opt).ReadAt(make([]byte, 100), 0); !errors.Is(err, errGone) {
		t.Fatal(err)
	}
	o = &object{b: bytesOf(100), fails: []error{errBusy, errBusy, errBusy, errBusy, errBusy, nil}}
	if _, err := open(t, o, opt).ReadAt(make([]byte, 100), 0); !errors.Is(err, errBusy) {
		t.Fatal(err)
	}
	// A wait ends when the program does.
	ctx, stop := context.WithCancel(t.Context())
	opt.Pause, opt.Wait = time.Hour, func(error) { stop() }
	o = &object{b: bytesOf(100), fails: []error{errBusy, nil}}
	f := New(ctx, o, 100, func() error { return nil }, opt)
	if _, err := f.ReadAt(make([]byte, 100), 0); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// An object that is shorter than it was said to be.
	o = &object{b: bytesOf(100)}
	f = New(t.Context(), o, 5000, func() error { return nil }, Options{})
	if _, err := f.ReadAt(make([]byte, 10), 4000); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
}
