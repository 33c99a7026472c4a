package decompress

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/session"
)

// compressors are the ways in which peers compress, by the name that
// grpc-encoding has and what sets it apart.
func compressors() map[string]func([]byte) []byte {
	through := func(open func(io.Writer) io.WriteCloser) func([]byte) []byte {
		return func(b []byte) []byte {
			var out bytes.Buffer
			w := open(&out)
			_, _ = w.Write(b)
			_ = w.Close()
			return out.Bytes()
		}
	}
	return map[string]func([]byte) []byte{
		"gzip":         through(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"deflate":      through(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"deflate raw":  through(func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 1); return z }),
		"zstd":         through(func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }),
		"snappy":       through(func(w io.Writer) io.WriteCloser { return snappy.NewBufferedWriter(w) }),
		"snappy block": func(b []byte) []byte { return snappy.Encode(nil, b) },
	}
}

func packed(name string, data []byte, pieces int) session.Entry {
	var c session.Chunks
	for n := len(data)/pieces + 1; len(data) > 0; data = data[min(n, len(data)):] {
		c = append(c, data[:min(n, len(data))])
	}
	encoding, _, _ := strings.Cut(name, " ")
	return session.Entry{Message: &session.Message{Data: c, Size: c.Len(), WireSize: c.Len(), Encoding: encoding, Compressed: true}}
}

// text is n bytes that can be compressed.
func text(n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "outbound|8080||service-%06d.namespace-%03d.svc.cluster.local", i, i%200)
	}
	return b[:n]
}

func TestDecompress(t *testing.T) {
	var d Decompressor
	defer d.Close()
	for name, compress := range compressors() {
		for _, n := range []int{0, 1, 5000, 3 << 20} {
			plain := text(n)
			data := compress(plain)
			for _, pieces := range []int{1, 7} {
				e := packed(name, data, pieces)
				before := e.Message
				d.Message(&e)
				m := e.Message
				if m.Compressed || m.Size != int64(n) || !bytes.Equal(m.Data.Bytes(), plain) || len(e.Problems) != 0 {
					t.Errorf("%s of %d bytes in %d pieces: %d bytes, compressed %v, %v",
						name, n, pieces, m.Size, m.Compressed, e.Problems)
				}
				if m.WireSize != int64(len(data)) || m.Encoding == "" || !before.Compressed || before.Size != int64(len(data)) {
					t.Errorf("%s: from %+v to %+v", name, before, m)
				}
			}
		}
	}
}

// Which bound was met is said: a message of random bytes expands to its length.
func TestTooLong(t *testing.T) {
	if a, b := tooLong(session.MostRead).Error(), tooLong(expandFree).Error(); !strings.Contains(a, "more than 256 MiB") || a == b {
		t.Errorf("%q, %q", a, b)
	}
}

func TestDecompressFails(t *testing.T) {
	var d Decompressor
	defer d.Close()
	for name, compress := range compressors() {
		data := compress(text(100_000))
		bomb := compress(make([]byte, expandFree+1))
		for what, b := range map[string][]byte{
			"cut": data[:len(data)/2], "garbage": []byte("garbage"), "bomb": bomb,
		} {
			if what == "bomb" && len(bomb)*expandRatio > expandFree {
				continue // it does not compress that well
			}
			e := packed(name, b, 1)
			d.Message(&e)
			if !e.Message.Compressed || !bytes.Equal(e.Message.Data.Bytes(), b) || len(e.Problems) != 1 ||
				!strings.HasPrefix(e.Problems[0], "cannot decompress: ") {
				t.Errorf("%s, %s: compressed %v, %v", name, what, e.Message.Compressed, e.Problems)
			}
			// Nothing of it stays behind.
			e = packed(name, data, 1)
			if d.Message(&e); e.Message.Compressed {
				t.Errorf("%s after %s: %v", name, what, e.Problems)
			}
		}
	}
	e := packed("br", []byte("x"), 1)
	e.Problems = []string{"one"}
	d.Message(&e)
	if want := []string{"one", `cannot decompress: unknown encoding "br"`}; !slices.Equal(e.Problems, want) {
		t.Errorf("problems %q", e.Problems)
	}
	e = packed("gzip", []byte("xyz"), 1)
	e.Message.Truncated = true
	if d.Message(&e); len(e.Problems) != 1 || !strings.Contains(e.Problems[0], "first 3 bytes") {
		t.Errorf("truncated: %q", e.Problems)
	}
}

func FuzzDecompress(f *testing.F) {
	names := []string{"identity"}
	for name, compress := range compressors() {
		encoding, _, _ := strings.Cut(name, " ")
		if !slices.Contains(names, encoding) {
			names = append(names, encoding)
		}
		f.Add(encoding, compress([]byte("some payload some payload")))
		f.Add(encoding, compress(make([]byte, 1<<20)))
	}
	f.Fuzz(func(t *testing.T, encoding string, data []byte) {
		var d Decompressor
		defer d.Close()
		e := packed(encoding, data, 3)
		d.Message(&e)
		m := e.Message
		if m.Compressed == (len(e.Problems) == 0) || m.Data.Len() != m.Size {
			t.Errorf("compressed %v, size %d of %d, %v", m.Compressed, m.Size, m.Data.Len(), e.Problems)
		}
		if m.Size > max(expandFree, expandRatio*int64(len(data))) {
			t.Errorf("%d bytes became %d", len(data), m.Size)
		}
	})
}
