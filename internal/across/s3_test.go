package across

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/internal/objects/s3test"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// uploaded puts what is below a directory into the bucket of a test, under a prefix.
func uploaded(t testing.TB, root, prefix string) objects.Store {
	t.Helper()
	store, _, err := objects.Open("s3://fleet/", objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		key, _ := filepath.Rel(root, path)
		return store.Put(t.Context(), prefix+filepath.ToSlash(key), bytes.NewReader(b), int64(len(b)), nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// small is an archive of some proxies, in segments of several days.
func small(t testing.TB) (root string) {
	t.Helper()
	root = t.TempDir()
	for i := range 3 {
		tmp := t.TempDir()
		files := proxy{
			dir: tmp, name: "x", clients: []string{fmt.Sprint("web-", i)}, pushes: 60, every: time.Minute,
			start: began.AddDate(-1, 0, 0).Add(time.Duration(i) * time.Second), rejects: map[int]string{2: "no such filter: wasm"}, segment: 2500,
		}.write(t)
		for n, file := range files {
			to := filepath.Join(root, "cluster=c", fmt.Sprintf("date=2026-01-%02d", 15+n), fmt.Sprintf("proxy=gw-%d", i))
			if err := os.MkdirAll(to, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(file, filepath.Join(to, fmt.Sprintf("r%d.%06d.xdsp", i, n+1))); err != nil {
				t.Fatal(err)
			}
		}
		if len(files) < 2 {
			t.Fatalf("%d segments", len(files))
		}
	}
	return root
}

// told is a report and all merged lines of a SOURCE, as text without its name.
func everything(t testing.TB, source string, said *[]string) string {
	t.Helper()
	r := readerOf(t, source, said)
	report := render.NewReport()
	if err := r.Judge(t.Context(), options(), report, false); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.NewBuffer(b)
	_, err = r.Merge(t.Context(), Plan{
		Query: func() (*input.Query, error) { return input.ParseQuery("") },
		Tell: func(rec *fleet.Recording, _ *input.Query) Teller {
			return func(e *session.Entry, _ *check.Change, _ bool) ([]byte, error) {
				if e == nil {
					return nil, nil
				}
				return fmt.Appendf(nil, "%s %s %d %s\n", rec.Cluster, rec.Proxy, e.Seq, e.Time), nil
			}
		},
		Write: func(l Line) error { _, err := out.Write(l.Text); return err },
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), strings.TrimSuffix(source, "/"), "SOURCE")
}

// What is read of a bucket is what is read of the same files here, over TLS as well.
func TestBucket(t *testing.T) {
	root := small(t)
	want := everything(t, root, nil)
	if !strings.Contains(want, "wasm") {
		t.Fatal(want)
	}
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprint("TLS ", secure), func(t *testing.T) {
			s3test.Start(t, secure)
			uploaded(t, root, "a/b/")
			var said []string
			if got := everything(t, "s3://fleet/a/b/", &said); got != want {
				t.Errorf("of a bucket:\n%.2000s\nof a directory:\n%.2000s", got, want)
			}
			if len(said) > 0 {
				t.Errorf("told %q", said)
			}
			// One recording by its name, whichever of its days is said.
			for _, day := range []string{"15", "16"} {
				src, err := opener(t, nil).Open("s3://fleet/a/b/cluster=c/date=2026-01-" + day + "/proxy=gw-1/r1.xdsp")
				if err != nil {
					t.Fatal(err)
				}
				if f := src.All(); f.Entries != 3+120 || !f.Complete || f.Lost != 0 {
					t.Errorf("by the name that day %s has: %+v", day, f)
				}
				_ = src.Close()
			}
			src, err := opener(t, nil).Open("s3://fleet/a/b/cluster=c/date=2026-01-15/proxy=gw-1/r1.000001.xdsp")
			if err != nil {
				t.Fatal(err)
			}
			if f := src.All(); f.Entries == 0 || f.Entries >= 3+120 {
				t.Errorf("one segment: %+v", f)
			}
			_ = src.Close()
		})
	}
}

// What may go wrong between here and a store is said once, and the rest goes on.
func TestBucketFails(t *testing.T) {
	srv := s3test.Start(t, false)
	root := small(t)
	want := everything(t, root, nil)
	store := uploaded(t, root, "p/")
	between := srv.Stand()

	t.Run("busy", func(t *testing.T) {
		var n atomic.Int64
		between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
			switch i := n.Add(1); {
			case r.Method == http.MethodGet && i%7 == 3:
				s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
			case r.Method == http.MethodGet && i%7 == 5 && r.Header.Get("Range") != "":
				s3test.HalfAnswer(w, r, forward)
			default:
				forward.ServeHTTP(w, r)
			}
		})
		if got := everything(t, "s3://fleet/p/", nil); got != want {
			t.Error("a store that is busy gives something else")
		}
	})
	between.Set(nil)

	t.Run("vanishes", func(t *testing.T) {
		key := "p/cluster=c/date=2026-01-15/proxy=gw-1/r1.000001.xdsp"
		between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
			if strings.Contains(r.URL.Path, "gw-1/r1.000001") {
				s3test.Refuse(w, http.StatusNotFound, "NoSuchKey")
				return
			}
			forward.ServeHTTP(w, r)
		})
		var said []string
		r := readerOf(t, "s3://fleet/p/", &said)
		report := render.NewReport()
		if err := r.Judge(t.Context(), options(), report, false); err != nil {
			t.Error(err)
		}
		if report.Summary.Recordings != 3 || len(said) != 1 || !strings.Contains(said[0], key) {
			t.Errorf("%+v, told %q", report.Summary, said)
		}
	})
	between.Set(nil)

	t.Run("half, foreign", func(t *testing.T) {
		b, err := os.ReadFile(filepath.Join(root, "cluster=c", "date=2026-01-15", "proxy=gw-0", "r0.000001.xdsp"))
		if err != nil {
			t.Fatal(err)
		}
		for key, b := range map[string][]byte{"p/cluster=c/date=2026-01-15/proxy=half/x.000001.xdsp": b[:len(b)*2/3], "p/cluster=c/date=2026-01-15/proxy=zip/x.xdsp": []byte("PK\x03\x04 something")} {
			if err := store.Put(t.Context(), key, bytes.NewReader(b), int64(len(b)), nil); err != nil {
				t.Fatal(err)
			}
		}
		var said []string
		report := render.NewReport()
		err = readerOf(t, "s3://fleet/p/", &said).Judge(t.Context(), options(), report, false)
		if err != nil || report.Summary.Unread != 1 || report.Summary.Recordings != 5 || len(said) != 2 {
			t.Errorf("%v, %+v, told %q", err, report.Summary, said)
		}
		if err := readerOf(t, "s3://fleet/p/", nil).Judge(t.Context(), options(), render.NewReport(), true); !Incomplete(err) {
			t.Errorf("strictly: %v", err)
		}
	})

	t.Run("nothing but foreign", func(t *testing.T) {
		if err := store.Put(t.Context(), "q/cluster=c/proxy=zip/x.xdsp", strings.NewReader("PK\x03\x04"), 4, nil); err != nil {
			t.Fatal(err)
		}
		report := render.NewReport()
		if err := readerOf(t, "s3://fleet/q/", nil).Judge(t.Context(), options(), report, false); !Incomplete(err) || report.Summary.Unread != 1 {
			t.Errorf("%v, %+v", err, report.Summary)
		}
	})

	for source, want := range map[string]string{
		"s3://nowhere/p/":        "does not exist",
		"s3://nowhere/p/x.xdsp":  "does not exist",
		"s3://fleet/p/gone.xdsp": "no recording",
		"s3://fleet/p":           "no recording",
		"s3://fleet/none/":       "no recording below",
	} {
		_, err := opener(t, nil).Open(source)
		f, is := errors.AsType[*console.Failure](err)
		if !is || !strings.Contains(err.Error(), want) || len(f.Hints) == 0 && !strings.Contains(source, "gone") {
			t.Errorf("%s: %v", source, err)
		}
	}
	t.Run("no credentials", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		_, err := opener(t, nil).Open("s3://fleet/p/")
		f, is := errors.AsType[*console.Failure](err)
		if !is || len(f.Hints) == 0 || !strings.Contains(err.Error(), "credentials") {
			t.Errorf("%v", err)
		}
	})
}
