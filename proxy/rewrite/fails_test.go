package rewrite

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// full is a server that takes a half of one of the writes to it, and no more.
type full struct {
	bytes.Buffer
	writes, last int
}

var errFull = errors.New("broken pipe")

func (f *full) Write(p []byte) (int, error) {
	if f.writes++; f.writes == f.last {
		n, _ := f.Buffer.Write(p[:len(p)/2])
		return n, errFull
	}
	return f.Buffer.Write(p)
}

// Where the server goes away, what it got is the beginning of what it would have
// got, no more is written, and the count of what was dealt with fits.
func TestServersThatGoAway(t *testing.T) {
	http2 := newTraffic(3)
	for range 60 {
		http2.step()
	}
	src := load(t, allOfIt(t))
	streams := map[string][]byte{"HTTP/2": http2.out.Bytes()}
	for _, in := range requests1() {
		streams["HTTP/1.1 "+in] = []byte(in)
	}
	for name, in := range streams {
		good, err := passed(src.Rewriter(), in, whole)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range []int{len(in), 1, 30, 1000} {
			all := slices.Collect(slices.Chunk(in, piece))
			step := 1
			for last := 1; ; last += step {
				dst, r := &full{last: last}, src.Rewriter()
				var failed error
				for _, p := range all {
					n, err := r.Write(dst, bytes.Clone(p))
					if n < 0 || n > len(p) || err == nil && n != len(p) {
						t.Fatalf("%.20s by %d, write %d fails: %d of %d bytes were dealt with, %v", name, piece, last, n, len(p), err)
					}
					if err != nil {
						failed = err
						break
					}
				}
				if failed == nil {
					break // there are no more writes than that
				}
				if !errors.Is(failed, errFull) || !bytes.HasPrefix(good, dst.Bytes()) {
					t.Fatalf("%.20s by %d, write %d fails: %d bytes, %v", name, piece, last, dst.Len(), failed)
				}
				before := dst.writes
				if n, err := r.Write(dst, []byte("more")); n != 0 || !errors.Is(err, errFull) || dst.writes != before {
					t.Fatalf("%.20s by %d: after it %d bytes were written, %v", name, piece, n, err)
				}
				step = 1 + last/8
			}
		}
	}
}

// The first bytes say what a client speaks, however they are cut.
func TestWhatAClientSpeaks(t *testing.T) {
	for in, want := range map[string]struct {
		out string // what goes on at once
		err string
		is1 bool
	}{
		"\x16\x03\x01":            {"", "the client speaks TLS to a plaintext listener", false},
		"\x00":                    {"", "the client speaks neither HTTP/2 nor HTTP/1.1", false},
		" GET":                    {"", "the client speaks neither HTTP/2 nor HTTP/1.1", false},
		preface:                   {preface, "", false},
		"PRI * HTTP/2":            {"", "", false},
		"POST / HTTP/1.1\r\n\r\n": {"POST / HTTP/1.1\r\n\r\n", "", true},
		"PRIX / HTTP/1.1\r\n\r\n": {"PRIX / HTTP/1.1\r\n\r\n", "", true},
	} {
		for _, cut := range []func(int) int{whole, single} {
			src := load(t, &Rules{})
			r := src.Rewriter()
			out, err := passed(r, []byte(in), cut)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if string(out) != want.out || !strings.Contains(got, want.err) || (err != nil) != (want.err != "") || (r.http1 != nil) != want.is1 {
				t.Errorf("%q: %q, %v", in, out, err)
			}
			if held := len(in) - len(out); err == nil && r.Held() != held {
				t.Errorf("%q: %d bytes are held, not %d", in, r.Held(), held)
			}
		}
	}
}

// How the body of a request ends has to be certain: else what follows cannot be
// rewritten.
func TestBodiesThatCannotBeFollowed(t *testing.T) {
	const chunked = "Transfer-Encoding: chunked\r\n"
	for head, want := range map[string]string{
		"POST / HTTP/1.1\r\n": "",
		"POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n": "",
		"POST / HTTP/1.1\r\n" + chunked:                                 "",
		"POST / HTTP/1.1\r\nTransfer-Encoding: CHUNKED\r\n":             "",
		"POST / HTTP/1.0\r\n" + chunked:                                 "a transfer coding other than chunked",
		"POST / HTTP/1.1\r\n" + chunked + chunked:                       "a transfer coding other than chunked",
		"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n":                "a transfer coding other than chunked",
		"POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 1\r\n": "has two lengths",
		"POST / HTTP/1.1\r\nContent-Length: 0\r\n" + chunked:            "has a length and is chunked",
		"POST / HTTP/1.1\r\nContent-Length: -1\r\n":                     "is not a number",
		"POST / HTTP/1.1\r\nContent-Length: 9223372036854775808\r\n":    "is not a number",
		"GET / HTTP/1.1\r\nUpgrade: h2c\r\n":                            "in another protocol",
	} {
		src := load(t, &Rules{})
		_, err := passed(src.Rewriter(), []byte(head+"\r\n"), whole)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", head, err)
		}
	}
	for c := range 256 {
		want := strings.IndexByte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", byte(c)) >= 0
		if isTokenByte(byte(c)) != want {
			t.Errorf("%q can be in a name: %v", rune(c), !want)
		}
	}
	long := strings.Repeat("x", maxValue)
	for _, c := range []struct {
		name, value string
		fine        bool
	}{
		{"x", "", true},
		{"x", "a b\tc é", true},
		{"x", " a", false},
		{"x", "a\t", false},
		{"x", "a\x1fb", false},
		{"x", "a\x7f", false},
		{"x", "a\nb", false},
		{"x", long, true},
		{"x", long + "x", false},
		{"x-bin", "YWI=", true},
		{"x-bin", "YWI", true},
		{"x-bin", "YWI, YQ==", true},
		{"x-bin", "a!", false},
		{"x-bin", "YWI,a!", false},
		{"x-bit", "a!", true},
	} {
		if err := checkValue(c.name, c.value); (err == nil) != c.fine {
			t.Errorf("%s: %.20q: %v", c.name, c.value, err)
		}
	}
}
