package ranges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// object counts what is read of it, and fails where it is told to.
type object struct {
	b      []byte
	fails  []error // of the next requests; nil works
	closed bool
	asked  []string // which chunks were asked for
}

func (o *object) ReadAt(p []byte, at int64) (int, error) {
	o.asked = append(o.asked, fmt.Sprintf("%g+%g", float64(at)/chunk, float64(len(p))/chunk))
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

// TestWhatIsAskedFor: each request by its first chunk and how many it has.
func TestWhatIsAskedFor(t *testing.T) {
	type read struct{ at, n int64 }
	const c = chunk
	for name, tc := range map[string]struct {
		size   int64
		expect read
		reads  []read
		want   string
	}{
		"one after the other":            {10 * c, read{}, []read{{5 * c, 100}, {5*c + 100, 100}, {6 * c, 100}, {8 * c, 100}}, "5+1 6+2 8+2"},
		"and back":                       {10 * c, read{}, []read{{5 * c, 100}, {6 * c, 100}, {2 * c, 100}, {3 * c, 100}, {9 * c, 100}}, "5+1 6+2 2+1 3+2 8+2"},
		"the end first":                  {10 * c, read{}, []read{{9*c + 5, 10}}, "9+1"},
		"the end, after the beginning":   {10 * c, read{}, []read{{0, 10}, {9*c + 5, 10}}, "0+1 8+2"},
		"one before the end":             {10 * c, read{}, []read{{0, 10}, {8 * c, 10}}, "0+1 8+1"},
		"the end, and what is before":    {10 * c, read{}, []read{{8 * c, 10}, {0, 10}, {9 * c, 10}}, "8+1 0+1 9+1"},
		"a last chunk that is short":     {10*c + 64, read{}, []read{{0, 10}, {10 * c, 64}}, "0+1 9+1.0009765625"},
		"over two":                       {10 * c, read{}, []read{{3*c - 1, 2}}, "2+2"},
		"to the end of one":              {10 * c, read{}, []read{{3*c - 2, 2}}, "2+1"},
		"what is expected":               {10 * c, read{3*c + 100, 2 * c}, []read{{3*c + 100, 10}, {5 * c, 10}}, "3+3"},
		"before what is expected":        {10 * c, read{3*c + 100, 2 * c}, []read{{3 * c, 10}}, "3+1"},
		"behind what is expected":        {10 * c, read{3 * c, 2 * c}, []read{{5 * c, 10}}, "5+1"},
		"more is expected than there is": {10 * c, read{8 * c, 20 * c}, []read{{8 * c, 10}}, "8+2"},
		"what is there is not asked for": {10 * c, read{}, []read{{4 * c, 10}, {2 * c, 4 * c}}, "4+1 2+2 5+1"},
		"no more than is most":           {40 * c, read{}, []read{{0, 34 * c}}, "0+16 16+16 32+4"},
		"nothing":                        {10 * c, read{}, []read{{3 * c, 0}}, ""},
	} {
		o := &object{b: bytesOf(int(tc.size))}
		f := open(t, o, Options{})
		f.Expect(tc.expect.at, tc.expect.n)
		for _, r := range tc.reads {
			if n, err := f.ReadAt(make([]byte, r.n), r.at); int64(n) != r.n || err != nil {
				t.Errorf("%s: %d of %d bytes, %v", name, n, r.n, err)
			}
		}
		if got := strings.Join(o.asked, " "); got != tc.want {
			t.Errorf("%s: %s, not %s", name, got, tc.want)
		}
	}
}

// What was not used for longest goes first, and no more goes than has to.
func TestShed(t *testing.T) {
	const most = keep / chunk
	o := &object{b: bytesOf(2 * keep)}
	f := open(t, o, Options{})
	read := func(i int64) {
		t.Helper()
		if _, err := f.ReadAt(make([]byte, 1), i*chunk); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(most) {
		read(most - 1 - i) // backwards: each alone
	}
	if n := len(o.asked); n != most || len(f.chunks) != most {
		t.Errorf("%d requests, %d chunks are there", n, len(f.chunks))
	}
	read(most - 1) // the oldest is used again
	read(most + 9)
	if len(f.chunks) != most || f.chunks[most-1] == nil || f.chunks[most-2] != nil || f.chunks[most-3] == nil {
		t.Errorf("%d chunks are there", len(f.chunks))
	}
}

// An object that is shorter is named, if its name is known; what is asked of an object
// has usual bounds.
func TestDefaults(t *testing.T) {
	for name, want := range map[string]string{"": "10 bytes came from byte 0 on, not 20: unexpected EOF", "s3://b/x": "cannot read s3://b/x: 10 bytes came from byte 0 on, not 20: unexpected EOF"} {
		var counted int
		f := New(t.Context(), &object{b: bytesOf(10)}, 20, func() error { return nil }, Options{Name: name, Count: func(n int) { counted += n }})
		if _, err := f.ReadAt(make([]byte, 5), 0); err == nil || err.Error() != want || counted != 10 {
			t.Errorf("%q: %v, %d bytes", name, err, counted)
		}
		if f.o.Slow != 10*time.Second || f.o.Pause != 250*time.Millisecond || f.o.Tries != 5 || f.Size() != 20 {
			t.Errorf("%+v", f.o)
		}
	}
	f := New(t.Context(), &object{}, 0, nil, Options{Slow: 1, Pause: 2, Tries: 3})
	if f.o.Slow != 1 || f.o.Pause != 2 || f.o.Tries != 3 {
		t.Errorf("%+v", f.o)
	}
	if _, err := f.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("there is something before the beginning")
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
