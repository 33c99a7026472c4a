package rewrite

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// FuzzRewriter feeds arbitrary bytes. Besides not panicking, a rewriter must
// write the same, and fail in the same way, whether the bytes come at once or
// one by one; must not hold more than it may; and what it makes of a client
// that it can follow must be something that it can follow.
func FuzzRewriter(f *testing.F) {
	for seed := range uint64(6) {
		c := newTraffic(seed)
		for c.out.Len() < 1000 {
			c.step()
		}
		f.Add(c.out.Bytes())
	}
	for _, in := range requests1() {
		f.Add([]byte(in))
	}
	f.Add([]byte(preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x06\x01\x25\x00\x00\x00\x01\x00\x00\x00\x00\x07\x82"))
	rules := &Rules{Authority: "a:1", Headers: []Header{{Name: "x-set", Value: "v"}}}
	f.Fuzz(func(t *testing.T, in []byte) {
		src := load(t, rules)
		first := src.Rewriter()
		out, err := passed(first, in, whole)
		if first.Held() > maxBlock+frameHeadLen {
			t.Fatalf("%d bytes are held", first.Held())
		}
		if err != nil {
			if e := (*FollowError)(nil); !errors.As(err, &e) || strings.Contains(e.Text, "internal") {
				t.Fatal(err)
			}
		}
		second := src.Rewriter()
		pieces, perr := passed(second, in, single)
		if !bytes.Equal(out, pieces) || (err == nil) != (perr == nil) || err == nil && first.Held() != second.Held() {
			t.Fatalf("at once %q, %v\none by one %q, %v", out, err, pieces, perr)
		}
		if again, err := passed(src.Rewriter(), out, whole); err != nil || first.http1 != nil && !bytes.Equal(again, out) {
			t.Fatalf("what was written is not followed: %v\n%q\n%q", err, out, again)
		}
	})
}

// BenchmarkData passes messages of several frames, in reads of 64 KiB, to a
// writer that does nothing, with and without a rewriter.
func BenchmarkData(b *testing.B) {
	c := newTraffic(1)
	c.headers(1, []hpack.HeaderField{{Name: ":method", Value: "POST"}}, false)
	opening := bytes.Clone(c.out.Bytes())
	for name, size := range map[string]int{"1100": 1100, "16384": 16384} {
		c.out.Reset()
		for c.out.Len() < 60<<10 {
			c.framer.WriteData(1, false, make([]byte, size))
		}
		p := bytes.Clone(c.out.Bytes())
		b.Run(name+"/without", func(b *testing.B) {
			var w io.Writer = new(lastWrite)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				w.Write(p)
			}
		})
		b.Run(name+"/with", func(b *testing.B) {
			r, w := load(b, &Rules{Authority: "a"}).Rewriter(), new(lastWrite)
			if _, err := passed(r, opening, whole); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Write(w, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRequest opens streams as grpc-go does.
func BenchmarkRequest(b *testing.B) {
	c := newTraffic(1)
	opening := bytes.Clone(c.out.Bytes())
	r, w := load(b, allOfIt(b)).Rewriter(), new(lastWrite)
	if _, err := passed(r, opening, whole); err != nil {
		b.Fatal(err)
	}
	request := func() []byte {
		c.out.Reset()
		c.block.Reset()
		for _, f := range []hpack.HeaderField{
			{Name: ":method", Value: "POST"},
			{Name: ":scheme", Value: "http"},
			{Name: ":path", Value: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"},
			{Name: ":authority", Value: "localhost:1"},
			{Name: "content-type", Value: "application/grpc"},
			{Name: "user-agent", Value: "grpc-go/1.80"},
			{Name: "te", Value: "trailers"},
		} {
			c.enc.WriteField(f)
		}
		c.framer.WriteRawFrame(1, 4, 1, c.block.Bytes())
		return bytes.Clone(c.out.Bytes())
	}
	if _, err := r.Write(w, request()); err != nil {
		b.Fatal(err)
	}
	p := request() // refers to the table
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Write(w, p); err != nil {
			b.Fatal(err)
		}
	}
}
