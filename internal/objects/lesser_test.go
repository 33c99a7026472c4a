package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/internal/objects/s3test"
)

// TestNeverOverwrites has servers that ignore If-None-Match, and those that refuse it.
func TestNeverOverwrites(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	for _, server := range []string{"ignores", "refuses"} {
		between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
			if server == "refuses" && r.Header.Get("If-None-Match") != "" {
				_, _ = io.Copy(io.Discard, r.Body)
				s3test.Refuse(w, http.StatusNotImplemented, "NotImplemented")
				return
			}
			r.Header.Del("If-None-Match")
			forward.ServeHTTP(w, r)
		})
		var said []string
		s := fleet(t, objects.Options{Tries: 1, Notice: func(text string) { said = append(said, text) }})
		put(t, s, server, []byte("first"), nil)
		put(t, s, server+"-2", []byte("first"), nil)
		if err := s.Put(context.Background(), server, strings.NewReader("other"), 5, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a server that %s it: %v", server, err)
		}
		c, err := s.Open(context.Background(), server)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := c.ReadAt(got, 0); err != nil || string(got) != "first" {
			t.Errorf("%q, %v", got, err)
		}
		if want := map[string]int{"ignores": 0, "refuses": 1}[server]; len(said) != want {
			t.Errorf("a server that %s it: %q was said", server, said)
		}
	}
}

// TestTrailersRefused is Ceph and Dell ECS, each in its way.
func TestTrailersRefused(t *testing.T) {
	for _, secure := range []bool{false, true} {
		srv := s3test.Start(t, secure)
		between := srv.Stand()
		for _, refusal := range []struct {
			status int
			code   string
		}{{501, "NotImplemented"}, {400, "InvalidArgument"}, {400, "XAmzContentSHA256Mismatch"}, {403, "SignatureDoesNotMatch"}} {
			var chunked, plain atomic.Int64
			between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
				if r.Method == http.MethodPut {
					if r.Header.Get("X-Amz-Trailer") != "" || strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
						chunked.Add(1)
						_, _ = io.Copy(io.Discard, r.Body)
						s3test.Refuse(w, refusal.status, refusal.code)
						return
					}
					plain.Add(1)
				}
				forward.ServeHTTP(w, r)
			})
			body := random(100_000)
			for _, calculation := range []string{"when_required", "", "when_supported"} {
				t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", calculation)
				chunked.Store(0)
				plain.Store(0)
				var said []string
				s := fleet(t, objects.Options{Tries: 1, Notice: func(text string) { said = append(said, text) }})
				for i := range 3 {
					put(t, s, fmt.Sprintf("%s/%d %s/%d", calculation+"x", refusal.status, refusal.code, i), body, nil)
				}
				once := int64(0)
				if calculation == "when_supported" {
					once = 1
				}
				if plain.Load() != 3 || chunked.Load() != once || len(said) != int(once) {
					t.Errorf("%s, %s: %d plain, %d with trailers, %q was said", calculation, refusal.code, plain.Load(), chunked.Load(), said)
				}
			}
			for o, err := range fleet(t, objects.Options{}).List(context.Background(), "") {
				if err != nil || o.Size != int64(len(body)) {
					t.Errorf("%+v, %v", o, err)
				}
			}
		}
		t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "sometimes")
		_, _, err := objects.Open("s3://fleet/", objects.Options{})
		says(t, err, "when_required or when_supported")
	}
}

// TestBadNetwork has bodies that end too early, answers that get lost, and servers
// that are busy.
func TestBadNetwork(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	s := fleet(t, objects.Options{Idle: 2 * time.Second})
	ctx := context.Background()
	body := random(1_000_000)

	// Each request fails once, each time in another way.
	var n atomic.Int64
	between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Method != http.MethodPut {
			forward.ServeHTTP(w, r)
			return
		}
		switch n.Add(1) {
		case 1:
			s3test.DropAfter(w, r, 1000)
		case 2:
			s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		case 3:
			s3test.Refuse(w, http.StatusInternalServerError, "InternalError")
		default:
			forward.ServeHTTP(w, r)
		}
	})
	put(t, s, "one", body, nil)
	if n.Load() != 4 {
		t.Errorf("%d requests", n.Load())
	}

	// The answer to what was done gets lost: it is taken, and by whom the caller sees.
	n.Store(0)
	between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Method == http.MethodPut && n.Add(1) == 1 {
			s3test.LoseAnswer(w, r, forward)
			return
		}
		forward.ServeHTTP(w, r)
	})
	if err := s.Put(ctx, "two", bytes.NewReader(body), int64(len(body)), map[string]string{"sha256": strings.Repeat("0", 0)}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("lost answer: %v", err)
	}

	// Half of bodies: what comes is kept, and the rest asked for.
	n.Store(0)
	var always atomic.Bool
	between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Method == http.MethodGet && (always.Load() || n.Add(1) < 5) {
			s3test.HalfAnswer(w, r, forward)
			return
		}
		forward.ServeHTTP(w, r)
	})
	c, err := s.Open(ctx, "one")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 400_000)
	if _, err := c.ReadAt(got, 500_000); err != nil || !bytes.Equal(got, body[500_000:900_000]) {
		t.Errorf("%v", err)
	}
	if c.Read() != 400_000 {
		t.Errorf("%d bytes were fetched", c.Read())
	}
	always.Store(true)
	_, err = c.ReadAt(make([]byte, 500_000), 1)
	says(t, err, "cannot read s3://fleet/one")

	// A server that ignores ranges.
	between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		r.Header.Del("Range")
		forward.ServeHTTP(w, r)
	})
	_, err = c.ReadAt(make([]byte, 10), 10)
	says(t, err, "does not give the part")

	// A stall ends, and can be tried again later.
	release := make(chan struct{})
	between.Set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	stalled := fleet(t, objects.Options{Idle: 200 * time.Millisecond, Tries: 1})
	_, err = stalled.Stat(ctx, "one")
	close(release)
	says(t, err, "too long")
	if !objects.Temporary(err) {
		t.Errorf("%v is for ever", err)
	}
}

// TestHostileListing has pages that no S3 gives.
func TestHostileListing(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	content := func(keys ...string) string {
		var b strings.Builder
		for _, k := range keys {
			fmt.Fprintf(&b, "<Contents><Key>%s</Key><LastModified>2026-11-26T16:00:00Z</LastModified><ETag>\"abc\"</ETag><Size>5</Size></Contents>", k)
		}
		return b.String()
	}
	page := func(inside string) string {
		return `<?xml version="1.0"?><ListBucketResult><Name>fleet</Name><EncodingType>url</EncodingType>` + inside + `</ListBucketResult>`
	}
	more := "<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>"
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("k%04d-%s", i, strings.Repeat("%C3%BC", 500)))
	}
	for name, c := range map[string]struct {
		page string
		keys int
		bad  []string
		err  string
	}{
		"keys that are no paths": {page: page(content("..%2Fx", "%2Fx", "a%0Ab", "a%1B%5B2J", "a%00", "ok")), bad: []string{"../x", "/x", "a\nb", "a\x1b[2J"}, err: "not in order"},
		"2 MB":                   {page: page(content(many...)), keys: 1000},
		"too much":               {page: page(strings.Repeat("<!-- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx -->", 200_000)), err: "more than a page"},
		"never ends":             {page: page(more), err: "nothing in them"},
		"the same again":         {page: page(content("a", "b") + more), keys: 2, err: "not in order"},
		"out of order":           {page: page(content("b", "a")), keys: 1, err: "not in order"},
		"a negative size":        {page: page(strings.Replace(content("a"), ">5<", ">-5<", 1)), bad: []string{"a"}},
		"no XML":                 {page: "<html>\x1b[2J", err: "cannot list"},
		"nothing":                {page: "", err: "cannot list"},
		"half":                   {page: page(content("a", "b"))[:200], err: "cannot list"},
	} {
		between.Set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/xml")
			_, _ = io.WriteString(w, c.page)
		})
		var bad []string
		var end error
		keys := 0
		for o, err := range fleet(t, objects.Options{Tries: 1}).List(context.Background(), "") {
			var k *objects.KeyError
			switch {
			case errors.As(err, &k):
				bad = append(bad, k.Key)
				says(t, err, "not a plain path")
			case err != nil:
				end = err
			case o.Size != 5:
				t.Errorf("%s: %+v", name, o)
			default:
				keys++
			}
		}
		slices.Sort(bad)
		slices.Sort(c.bad)
		if keys != c.keys || !slices.Equal(bad, c.bad) {
			t.Errorf("%s: %d keys, %q are bad", name, keys, bad)
		}
		if c.err != "" {
			says(t, end, c.err)
		} else if end != nil {
			t.Errorf("%s: %v", name, end)
		}
	}
	// In order, each of them is told, and the list goes on.
	between.Set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		_, _ = io.WriteString(w, page(content("..%2Fx", "%2Fx", "a%00", "a%0Ab", "a%1B%5B2J", "b%2F", "b%2F..%2Fc", "ok", "q%FF")))
	})
	var got []string
	for o, err := range fleet(t, objects.Options{}).List(context.Background(), "") {
		if err != nil {
			got = append(got, "bad")
		} else {
			got = append(got, o.Key)
		}
	}
	if want := []string{"bad", "bad", "bad", "bad", "bad", "bad", "ok", "bad"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestHostileFields has metadata and header fields that are not ours.
func TestHostileFields(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	field := func(name, value string) {
		between.Set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Last-Modified", "Thu, 26 Nov 2026 16:00:00 GMT")
			w.Header().Set("Content-Length", "5")
			w.Header().Set("ETag", `"abc"`)
			w.Header()[name] = []string{value}
			w.WriteHeader(http.StatusOK)
		})
	}
	s := fleet(t, objects.Options{Tries: 1})
	stat := func() (objects.Object, error) { return s.Stat(context.Background(), "x") }
	field("X-Amz-Meta-First-Seq", "7")
	if o, err := stat(); err != nil || o.Meta["first-seq"] != "7" || o.ETag != "abc" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, value := range []string{"a\xffb", "a\u202eb", strings.Repeat("x", 20_000)} {
		field("X-Amz-Meta-Evil", value)
		if o, err := stat(); err != nil || len(o.Meta) != 0 {
			t.Errorf("%+v, %v", o.Meta, err)
		}
	}
	field("X-Amz-Meta-Evil", strings.Repeat("x", 1<<20))
	if _, err := stat(); err == nil {
		t.Error("a megabyte of metadata was read")
	}
	for _, n := range []string{"-1", "99999999999999999999", "x"} {
		field("Content-Length", n)
		if o, err := stat(); err == nil {
			t.Errorf("a size of %s is %d", n, o.Size)
		}
	}
	field("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat))
	if _, err := stat(); err != nil {
		t.Fatal(err)
	}
	if skew, known := s.(objects.Clock).Skew(); !known || (skew+10*time.Minute).Abs() > 5*time.Second {
		t.Errorf("the clock is off by %s, %v", skew, known)
	}
}

// TestDirectory is what only a directory can have.
func TestDirectory(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"file": filepath.Join(outside, "secret"), "away": outside, "loop": "loop", "up": "..", "inside": "real"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"real", "a\nb", "a\x1b[2J", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, key, err := objects.Open("file://"+dir, objects.Options{})
	if err != nil || key != "" {
		t.Fatalf("%q, %v", key, err)
	}
	var keys, bad []string
	for o, err := range s.List(context.Background(), "") {
		var k *objects.KeyError
		if errors.As(err, &k) {
			bad = append(bad, k.Key)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	if !slices.Equal(keys, []string{"inside", "real"}) || len(bad) != 2 {
		t.Errorf("%q, %q", keys, bad)
	}
	for _, key := range []string{"file", "away/secret", "loop", "up/x", ".hidden", ".meta/x", "nowhere"} {
		if _, err := s.Stat(context.Background(), key); err == nil {
			t.Errorf("%s was looked at", key)
		}
		if _, err := s.Open(context.Background(), key); err == nil {
			t.Errorf("%s was opened", key)
		}
	}
	for _, key := range []string{"away/new", ".hidden/x", "real/x"} {
		err := s.Put(context.Background(), key, strings.NewReader("x"), 1, nil)
		says(t, err, "")
	}
	if found, _ := os.ReadDir(outside); len(found) != 1 {
		t.Errorf("something was written outside: %v", found)
	}
	// What a kill has left goes after a day, and what is under way stays.
	old := time.Now().Add(-25 * time.Hour)
	for name, at := range map[string]time.Time{".upload-old": old, ".upload-new": time.Now(), "other": old} {
		path := filepath.Join(dir, ".meta", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := objects.Open("file://"+dir, objects.Options{Create: true}); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".meta", "*")); len(left) != 2 {
		t.Errorf("%q are left", left)
	}
	_, key, err = objects.Open("file://"+dir+"/real", objects.Options{})
	if err != nil || key != "real" {
		t.Errorf("%q, %v", key, err)
	}
}
