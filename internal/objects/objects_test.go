package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/internal/objects/s3test"
)

// stores calls test with each kind of store, empty.
func stores(t *testing.T, test func(t *testing.T, s objects.Store)) {
	open := func(t *testing.T, url string) objects.Store {
		s, key, err := objects.Open(url, objects.Options{Create: true})
		if err != nil || key != "" {
			t.Fatalf("%q, %v", key, err)
		}
		return s
	}
	t.Run("s3", func(t *testing.T) {
		s3test.Start(t, false)
		test(t, open(t, "s3://fleet"))
	})
	t.Run("s3 over TLS", func(t *testing.T) {
		s3test.Start(t, true)
		test(t, open(t, "s3://fleet/"))
	})
	t.Run("s3 with trailers", func(t *testing.T) {
		s3test.Start(t, false)
		t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported")
		test(t, open(t, "s3://fleet/"))
	})
	t.Run("s3 over TLS with trailers", func(t *testing.T) {
		s3test.Start(t, true)
		t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported")
		test(t, open(t, "s3://fleet/"))
	})
	t.Run("directory", func(t *testing.T) { test(t, open(t, "file://"+t.TempDir()+"/new/")) })
}

func put(t *testing.T, s objects.Store, key string, body []byte, meta map[string]string) {
	t.Helper()
	if err := s.Put(context.Background(), key, bytes.NewReader(body), int64(len(body)), meta); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func random(n int) []byte {
	r := rand.NewChaCha8([32]byte{byte(n)})
	out := make([]byte, n)
	_, _ = r.Read(out)
	return out
}

func keysOf(t *testing.T, s objects.Store, prefix string) (keys []string) {
	t.Helper()
	for o, err := range s.List(context.Background(), prefix) {
		if err != nil {
			t.Fatalf("list %q: %v", prefix, err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

// TestStore is what every store does.
func TestStore(t *testing.T) {
	stores(t, func(t *testing.T, s objects.Store) {
		ctx := context.Background()
		for _, empty := range []string{"", "nothing/"} {
			if keys := keysOf(t, s, empty); len(keys) != 0 {
				t.Errorf("an empty store lists %v", keys)
			}
		}
		if _, err := s.Stat(ctx, "a/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("stat of nothing: %v", err)
		}
		if _, err := s.Open(ctx, "a/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open of nothing: %v", err)
		}

		body := random(300_000)
		meta := map[string]string{"recording": "20261126T160000Z-abc", "first-seq": "1", "complete": "true", "note": "a = b; c"}
		put(t, s, "a/b/one.xdsp", body, meta)
		put(t, s, "a/b/empty", nil, nil)
		for _, key := range []string{"a.b", "a/b.c", "a/b/two", "a-b", "a/ü/x y+%41&?.xdsp", "b", "cluster=C/date=2026-11-26/proxy=p%2Fq/r.000001.xdsp"} {
			put(t, s, key, []byte(key), nil)
		}
		all := []string{"a-b", "a.b", "a/b.c", "a/b/empty", "a/b/one.xdsp", "a/b/two", "a/ü/x y+%41&?.xdsp", "b", "cluster=C/date=2026-11-26/proxy=p%2Fq/r.000001.xdsp"}
		if got := keysOf(t, s, ""); !slices.Equal(got, all) {
			t.Errorf("list gives\n%q, not\n%q", got, all)
		}
		for prefix, want := range map[string][]string{"a/": all[2:7], "a/b": all[2:6], "a/b/": all[3:6], "a": all[:7], "a/b/o": all[4:5], "zzz": nil, "cluster=C/": all[8:]} {
			if got := keysOf(t, s, prefix); !slices.Equal(got, want) {
				t.Errorf("list of %q gives %q, not %q", prefix, got, want)
			}
		}
		for o, err := range s.List(ctx, "a/b/") { // and stop
			if err != nil || o.Size != 0 || o.Modified.IsZero() || o.ETag == "" {
				t.Errorf("the first is %+v, %v", o, err)
			}
			break
		}

		o, err := s.Stat(ctx, "a/b/one.xdsp")
		if err != nil || o.Size != int64(len(body)) || o.ETag == "" || o.Key != "a/b/one.xdsp" {
			t.Fatalf("stat: %+v, %v", o, err)
		}
		for k, v := range meta {
			if o.Meta[k] != v {
				t.Errorf("metadata %s is %q, not %q", k, o.Meta[k], v)
			}
		}

		for key, want := range map[string][]byte{"a/b/one.xdsp": body, "a/ü/x y+%41&?.xdsp": []byte("a/ü/x y+%41&?.xdsp"), "a/b/empty": {}} {
			c, err := s.Open(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(io.NewSectionReader(c, 0, c.Object().Size))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s has %d bytes, %v", key, len(got), err)
			}
			if c.Read() != int64(len(want)) {
				t.Errorf("%d bytes were fetched of %d", c.Read(), len(want))
			}
			_ = c.Close()
		}
		c, err := s.Open(ctx, "a/b/one.xdsp")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, r := range []struct{ off, n, got int }{{0, 10, 10}, {7, 1, 1}, {299_990, 10, 10}, {299_990, 100, 10}, {300_000, 1, 0}, {400_000, 1, 0}, {1000, 100_000, 100_000}} {
			b := make([]byte, r.n)
			n, err := c.ReadAt(b, int64(r.off))
			if n != r.got || (err == io.EOF) != (r.got < r.n) || err != nil && err != io.EOF || n > 0 && !bytes.Equal(b[:n], body[r.off:r.off+n]) {
				t.Errorf("read of %d at %d: %d, %v", r.n, r.off, n, err)
			}
		}
		if _, err := c.ReadAt(make([]byte, 1), -1); err == nil {
			t.Error("a read before the beginning")
		}

		// Never overwritten.
		for range 2 {
			if err := s.Put(ctx, "a/b/one.xdsp", strings.NewReader("other"), 5, nil); !errors.Is(err, fs.ErrExist) {
				t.Errorf("put again: %v", err)
			}
		}
		if o, err := s.Stat(ctx, "a/b/one.xdsp"); err != nil || o.Size != int64(len(body)) || o.Meta["complete"] != "true" {
			t.Errorf("after that it is %+v, %v", o, err)
		}
		// A body that is shorter than it was said leaves nothing.
		if err := s.Put(ctx, "a/short", strings.NewReader("abc"), 10, nil); err == nil {
			t.Error("a body that ends too early was stored")
		}
		if _, err := s.Stat(ctx, "a/short"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after it: %v", err)
		}

		for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a/../b", "a/./b", "a\x00b", "a\nb", "a\x1b[2Jb", "a\xffb", `a\b`, strings.Repeat("x", 1025)} {
			if err := s.Put(ctx, key, strings.NewReader("x"), 1, nil); err == nil {
				t.Errorf("%q was stored", key)
			}
			if _, err := s.Stat(ctx, key); err == nil || strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Errorf("stat of %q: %v", key, err)
			}
			if _, err := s.Open(ctx, key); err == nil {
				t.Errorf("%q was opened", key)
			}
		}
		for _, meta := range []map[string]string{{"Upper": "x"}, {"": "x"}, {"a": "b\r\nx-evil: 1"}, {"a": "ü"}, {"a": " b"}, {"a": strings.Repeat("x", 4000)}} {
			if err := s.Put(ctx, "meta", strings.NewReader("x"), 1, meta); err == nil {
				t.Errorf("metadata %.40q was taken", meta)
			}
		}

		// What the URL says is found by it.
		for _, key := range all {
			again, rest, err := objects.Open(s.URL(key), objects.Options{})
			if err != nil {
				t.Errorf("%s: %v", s.URL(key), err)
				continue
			}
			if o, err := again.Stat(ctx, rest); err != nil || again.URL(rest) != s.URL(key) {
				t.Errorf("%s: %+v, %v", s.URL(key), o, err)
			}
		}

		gone, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := s.Stat(gone, "b"); !errors.Is(err, context.Canceled) {
			t.Errorf("stat after the end: %v", err)
		}
		for _, err := range s.List(gone, "") {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("list after the end: %v", err)
			}
		}
	})
}

// TestPutRace has many writers of one key: one of them is told that it was it.
func TestPutRace(t *testing.T) {
	stores(t, func(t *testing.T, s objects.Store) {
		var wg sync.WaitGroup
		done := make([]error, 8)
		for i := range done {
			wg.Go(func() {
				body := fmt.Sprintf("writer %d", i)
				done[i] = s.Put(context.Background(), "one", strings.NewReader(body), int64(len(body)), map[string]string{"writer": fmt.Sprint(i)})
			})
		}
		wg.Wait()
		won := -1
		for i, err := range done {
			switch {
			case err == nil && won < 0:
				won = i
			case err == nil:
				// moto checks and stores in two steps: what its lock leaves open is not ours.
				t.Logf("two writers were told so: %d and %d", won, i)
			case !errors.Is(err, fs.ErrExist) && !objects.Temporary(err):
				t.Errorf("writer %d: %v", i, err)
			}
		}
		if won < 0 {
			t.Fatal("nobody was told so")
		}
	})
}

// TestParts uploads in parts.
func TestParts(t *testing.T) {
	for _, secure := range []bool{false, true} {
		srv := s3test.Start(t, secure)
		s, _, err := objects.Open("s3://fleet/", objects.Options{Part: 5 << 20})
		if err != nil {
			t.Fatal(err)
		}
		body := random(12<<20 + 5)
		put(t, s, "big", body, map[string]string{"entries": "7"})
		c, err := s.Open(context.Background(), "big")
		if err != nil || c.Object().Meta["entries"] != "7" {
			t.Fatalf("%v, %v\n%s", c, err, srv.Log())
		}
		got, err := io.ReadAll(io.NewSectionReader(c, 0, c.Object().Size))
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if err := s.Put(context.Background(), "big", bytes.NewReader(body), int64(len(body)), nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("again: %v", err)
		}
	}
}
