package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/internal/objects/s3test"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// words are what an archive has told.
type words struct {
	mu   sync.Mutex
	said []string
}

func (w *words) tell(text, hint string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, strings.TrimSpace(text+" | "+hint))
}

// about are those of them that match.
func (w *words) about(pattern string) (found []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.said {
		if regexp.MustCompile(pattern).MatchString(s) {
			found = append(found, s)
		}
	}
	return found
}

// at is a run that records into dir and uploads to url.
type at struct {
	*recorder.Log
	*words
	a    *Archive
	path string
	copy map[uint64][]byte // of segments, as they were when they had ended
	n    int
}

func run(t *testing.T, dir, url string, change func(*Options, *recorder.Options)) *at {
	t.Helper()
	r := &at{words: &words{}, copy: make(map[uint64][]byte)}
	o := Options{URL: url, Cluster: "mesh one", Name: "gw/0", Program: "xdsproxy tëst", Tell: r.tell, Say: func(text string) { r.tell(text, "") }, First: 5 * time.Millisecond, Most: 50 * time.Millisecond}
	ro := recorder.Options{MaxSize: 8 << 10, NoTicks: true, Program: o.Program}
	if change != nil {
		change(&o, &ro)
	}
	store, prefix, err := objects.Open(url, objects.Options{Create: true, Tries: 1, Idle: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	o.Store, o.Prefix = store, prefix
	r.path = filepath.Join(dir, fmt.Sprintf("run%d.xdsp", time.Now().UnixNano()))
	if r.a, err = New(r.path, o); err != nil {
		t.Fatal(err)
	}
	ro.Spare, ro.Rotated = r.a.Spare, r.a.Rotated
	if r.Log, err = recorder.Create(r.path, ro); err != nil {
		t.Fatal(err)
	}
	r.a.Start(r.Facts().Created)
	t.Cleanup(func() {
		_ = r.Log.Close()
		r.a.Close(context.Background(), 0)
	})
	return r
}

// TestIntentLeftBehind is an intent whose recording was deleted by hand: another of that
// name may begin. One that is younger may be of a process that begins right now, and
// one with a recording says where that is to go.
func TestIntentLeftBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fixed.xdsp")
	o := Options{URL: "file:///archive/", Cluster: "c", Name: "p"}
	begin := func() error {
		a, err := New(path, o)
		if err == nil {
			a.cancel()
		}
		return err
	}
	aged := func() {
		at := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path+intentExt, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	if err := begin(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("beside one that begins: %v", err)
	}
	aged()
	first, _ := readIntent(path + intentExt)
	if err := begin(); err != nil {
		t.Errorf("beside one that is left: %v", err)
	}
	if now, err := readIntent(path + intentExt); err != nil || now.Recording == first.Recording {
		t.Errorf("the intent is %v, %v", now, err)
	}
	aged()
	older := filepath.Join(filepath.Dir(path), "fixed.000001.xdsp")
	if err := os.WriteFile(older, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := begin(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("beside a segment that is to be uploaded: %v", err)
	}
}

// segment writes a segment and waits until it has ended.
func (r *at) segment(t *testing.T) {
	t.Helper()
	r.n++
	want := uint64(r.n)
	data := make([]byte, 9<<10)
	rng := rand.NewChaCha8([32]byte{byte(r.n), byte(r.n >> 8)})
	_, _ = rng.Read(data)
	r.Append(session.Entry{
		Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Server, Time: time.Date(2026, 11, 25, 23, 59, 0, 0, time.UTC).Add(time.Duration(r.n) * 10 * time.Second),
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data))},
	})
	file := strings.TrimSuffix(r.path, ".xdsp") + fmt.Sprintf(".%06d.xdsp", want)
	eventually(t, "segment "+file, func() bool {
		f, err := recorder.InspectFile(file)
		return err == nil && f.Facts.Complete
	})
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// close ends the run as a proxy does.
func (r *at) close(t *testing.T, grace time.Duration) Stats {
	t.Helper()
	if err := r.Log.Close(); err != nil {
		t.Fatal(err)
	}
	r.a.Close(context.Background(), grace)
	return r.a.Stats()
}

// files are those of the run that are still on disk and have something in them, by
// segment.
func (r *at) files(t *testing.T) map[uint64][]byte {
	t.Helper()
	out := make(map[uint64][]byte)
	files, err := recorder.Files(r.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := recorder.InspectFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.Facts.Entries == 0 {
			continue // there is nothing in it
		}
		if out[f.Number], err = os.ReadFile(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return out
}

// stored is what a store has below a URL, by key.
func stored(t *testing.T, url string) map[string][]byte {
	t.Helper()
	s, prefix, err := objects.Open(url, objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]byte)
	for o, err := range s.List(context.Background(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Open(context.Background(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(io.NewSectionReader(c, 0, c.Object().Size))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		out[strings.TrimPrefix(o.Key, prefix)] = text
	}
	return out
}

// arrived fails unless the store has all segments of the runs, once each, byte for
// byte, and nothing else.
func arrived(t *testing.T, url string, runs ...*at) {
	t.Helper()
	got, want := stored(t, url), 0
	for _, r := range runs {
		for n, text := range r.files(t) {
			want++
			found := 0
			for key, other := range got {
				if strings.Contains(key, r.a.current.intent.Recording) && strings.HasSuffix(key, fmt.Sprintf(".%06d.xdsp", n)) {
					found++
					if !bytes.Equal(text, other) {
						t.Errorf("%s has %d bytes, and the file %d", key, len(other), len(text))
					}
				}
			}
			if found != 1 {
				t.Errorf("segment %d of %s is there %d times", n, r.path, found)
			}
		}
	}
	if len(got) != want {
		t.Errorf("%d objects, and %d files", len(got), want)
	}
}

func intentsIn(t *testing.T, dir string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"+intentExt+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// TestUploads is what each kind of store gets.
func TestUploads(t *testing.T) {
	for name, c := range map[string]struct{ secure, s3, trailers bool }{
		"s3": {s3: true}, "TLS": {s3: true, secure: true}, "trailers": {s3: true, trailers: true}, "TLS and trailers": {s3: true, secure: true, trailers: true}, "directory": {},
	} {
		t.Run(name, func(t *testing.T) {
			url := "file://" + t.TempDir() + "/new/"
			if c.s3 {
				s3test.Start(t, c.secure)
				url = "s3://fleet/a/b/"
			}
			if c.trailers {
				t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_supported")
			}
			dir := t.TempDir()
			r := run(t, dir, url, nil)
			for range 12 {
				r.segment(t)
			}
			eventually(t, "twelve segments", func() bool { return r.a.Stats().Done == 12 })
			if n := intentsIn(t, dir); n != 1 {
				t.Errorf("%d intents", n)
			}
			r.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &session.Note{Text: "the last"}})
			st := r.close(t, time.Minute)
			if st.Done != 13 || st.Pending+st.Failed+st.Dropped+st.Errors != 0 || st.DoneBytes == 0 || st.Stalled {
				t.Errorf("%+v", st)
			}
			arrived(t, url, r)
			if n := intentsIn(t, dir); n != 0 {
				t.Errorf("%d intents are left", n)
			}
			if len(r.said) != 0 {
				t.Errorf("%q", r.said)
			}
			shape := regexp.MustCompile(`^cluster=mesh%20one/date=2026-11-(25|26)/proxy=gw%2F0/\d{8}T\d{6}Z-[a-z0-9]{12}\.0000\d\d\.xdsp$`)
			days := make(map[string]bool)
			for key := range stored(t, url) {
				m := shape.FindStringSubmatch(key)
				if m == nil {
					t.Fatalf("a key %s", key)
				}
				days[m[1]] = true
			}
			if len(days) != 2 {
				t.Errorf("the days are %v: each is that of the first entry", days)
			}
			r.metadataIsRight(t, url)
		})
	}
}

// metadataIsRight holds what was stored with segments against the segments.
func (r *at) metadataIsRight(t *testing.T, url string) {
	t.Helper()
	s, prefix, err := objects.Open(url, objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	next := uint64(1)
	for o, err := range s.List(context.Background(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		full, err := s.Stat(context.Background(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		m := full.Meta
		n, _ := strconv.ParseUint(m["segment"], 10, 64)
		file := r.path
		if n < 13 {
			file = strings.TrimSuffix(r.path, ".xdsp") + fmt.Sprintf(".%06d.xdsp", n)
		}
		f, err := recorder.InspectFile(file)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := strconv.ParseUint(m["first-seq"], 10, 64)
		for what, wrong := range map[string]bool{
			"schema": m["schema"] != "xdsproxy/v1", "recording": m["recording"] != r.a.current.intent.Recording, "first-seq": first != next,
			"entries": m["entries"] != fmt.Sprint(f.Facts.Entries) || f.Facts.Entries == 0, "messages": m["messages"] != fmt.Sprint(f.Facts.Messages),
			"first-time": m["first-time"] != stamp(f.Facts.First), "last-time": m["last-time"] != stamp(f.Facts.Last),
			"last-seq": m["last-seq"] != fmt.Sprint(f.Facts.LastSeq), "complete": m["complete"] != "true", "program": m["program"] != "xdsproxy t?st",
			"sha256": len(m["sha256"]) != 64, "began": m["began"] != stamp(f.Began), "clock-skew-ms": strings.HasPrefix(url, "s3") != (m["clock-skew-ms"] != ""),
		} {
			if wrong {
				t.Errorf("%s: %s is %q", o.Key, what, m[what])
			}
		}
		next = uint64(f.Facts.LastSeq) + 1
	}
}

// TestLeft uploads what earlier runs could not, and nothing that is not its business.
func TestLeft(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	refuse := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
	}
	dir := t.TempDir()
	between.Set(refuse)
	var left []*at
	for i := range 3 {
		r := run(t, dir, "s3://fleet/x/", nil)
		for range 4 {
			r.segment(t)
		}
		r.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &session.Note{Text: "the last"}})
		if st := r.close(t, time.Minute); st.Pending != 5*uint64(i+1) || st.PendingBytes == 0 || st.Done != 0 || !st.Stalled || st.Errors == 0 {
			t.Errorf("%+v", st)
		}
		left = append(left, r)
	}
	other := run(t, dir, "s3://fleet/other/", nil)
	other.segment(t)
	other.close(t, time.Minute)
	alive := run(t, dir, "s3://fleet/x/", nil)
	alive.segment(t)
	// One whose intent nobody understands, one that is only beginning, and one that
	// is no recording.
	for name, text := range map[string]string{
		"odd.xdsp" + intentExt: "{}", "evil.xdsp" + intentExt: `{"archive":"s3://fleet/x/","cluster":"c","proxy":"p","recording":"../../etc"}`,
		"new.xdsp" + intentExt: `{"archive":"s3://fleet/x/","cluster":"c","proxy":"p","recording":"20261126T000000Z-abcdefghijkl"}`,
		"text.xdsp":            "hello", "text.xdsp" + intentExt: `{"archive":"s3://fleet/x/","cluster":"c","proxy":"p","recording":"20261126T000000Z-abcdefghijkm"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "text.xdsp"+intentExt), old, old); err != nil {
		t.Fatal(err)
	}

	between.Set(nil)
	now := run(t, dir, "s3://fleet/x/", nil)
	now.segment(t)
	eventually(t, "all that was left", func() bool { return now.a.Stats().Done >= 15+1 })
	now.close(t, time.Minute)
	if st := now.a.Stats(); st.Failed != 1 || st.Pending != 0 {
		t.Errorf("%+v", st)
	}
	if said := now.about("does not say where"); len(said) != 2 {
		t.Errorf("%q", now.said)
	}
	if said := now.about("cannot upload .*text.xdsp"); len(said) != 1 {
		t.Errorf("%q", now.said)
	}
	alive.close(t, time.Minute)
	arrived(t, "s3://fleet/x/", append(left, now, alive)...)
	if got := stored(t, "s3://fleet/other/"); len(got) != 0 {
		t.Errorf("%d objects of another archive", len(got))
	}
	if n := intentsIn(t, dir); n != 5 { // other, odd, evil, new, text
		t.Errorf("%d intents", n)
	}
}

// TestNothing leaves nothing behind where nothing was recorded.
func TestNothing(t *testing.T) {
	dir := t.TempDir()
	url := "file://" + t.TempDir() + "/"
	r := run(t, dir, url, nil)
	if st := r.close(t, time.Minute); st != (Stats{}) {
		t.Errorf("%+v", st)
	}
	r = run(t, dir, url, nil)
	_ = r.Log.Close()
	r.a.Discard()
	if n := intentsIn(t, dir); n != 0 {
		t.Errorf("%d intents", n)
	}
	if got := stored(t, url); len(got) != 0 {
		t.Errorf("%d objects", len(got))
	}
}

// TestDiscardAtOnce: who cannot begin is told why at once, and not when the directory
// would be looked at again.
func TestDiscardAtOnce(t *testing.T) {
	dir, url := t.TempDir(), "file://"+t.TempDir()+"/"
	synctest.Test(t, func(t *testing.T) {
		store, prefix, err := objects.Open(url, objects.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(filepath.Join(dir, "run.xdsp"), Options{URL: url, Store: store, Prefix: prefix, Cluster: "c", Name: "p"})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now() // of a clock that goes on only while all wait
		a.Start(began)
		synctest.Wait()
		a.Discard()
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it waited %v", waited)
		}
	})
}

// TestNotOurs has objects in the place of segments: half of one, another, and a whole
// one whose metadata the store has lost. None is overwritten.
func TestNotOurs(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	dir := t.TempDir()
	between.Set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { s3test.Drop(w) })
	r := run(t, dir, "s3://fleet/", nil)
	for range 3 {
		r.segment(t)
	}
	s, _, err := objects.Open("s3://fleet/", objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Header.Get("X-Test") == "" && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "cluster=") && r.Header.Get("X-Amz-Meta-Schema") != "" {
			s3test.Drop(w)
			return
		}
		forward.ServeHTTP(w, r)
	})
	files := r.files(t)
	for n, text := range map[uint64][]byte{1: files[1][:len(files[1])/2], 2: bytes.Repeat([]byte("x"), len(files[2])), 3: files[3]} {
		f, err := recorder.InspectFile(strings.TrimSuffix(r.path, ".xdsp") + fmt.Sprintf(".%06d.xdsp", n))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(context.Background(), r.a.key(r.a.current, &f), bytes.NewReader(text), int64(len(text)), nil); err != nil {
			t.Fatal(err)
		}
	}
	before := stored(t, "s3://fleet/")
	between.Set(nil)
	eventually(t, "an account of all three", func() bool { st := r.a.Stats(); return st.Done == 1 && st.Failed == 2 && st.Pending == 0 })
	if after := stored(t, "s3://fleet/"); len(after) != 3 || len(before) != 3 {
		t.Errorf("%d objects, then %d", len(before), len(after))
	} else {
		for key, text := range before {
			if !bytes.Equal(after[key], text) {
				t.Errorf("%s was changed", key)
			}
		}
	}
	if said := r.about("is not what was to be uploaded"); len(said) != 2 {
		t.Errorf("%q", r.said)
	}
	r.close(t, time.Minute)
	if n := intentsIn(t, dir); n != 1 {
		t.Errorf("%d intents: what could not be uploaded may be the next time", n)
	}
}

// TestKeep is what --keep deletes while nothing can be uploaded, with and without
// room for what waits.
func TestKeep(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	for _, hold := range []int64{0, 40 << 10, 1 << 40} {
		t.Run(fmt.Sprint(hold), func(t *testing.T) {
			url := fmt.Sprintf("s3://fleet/hold%d/", hold)
			between.Set(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
			})
			r := run(t, t.TempDir(), url, func(o *Options, ro *recorder.Options) { o.Hold, ro.Keep = hold, 2 })
			for range 20 {
				r.segment(t)
			}
			least, most := 2, 3
			if hold > 0 {
				least, most = 2+int(min(hold/(10<<10), 18)), 2+1+int(min(hold/(9<<10), 17))
			}
			var on int
			var st Stats
			eventually(t, "no more on disk than is held, and an account of all", func() bool { // the last ones go a moment after the next begins
				on, st = len(r.files(t)), r.a.Stats()
				return on <= most && st.Dropped == uint64(20-on) && st.Pending == uint64(on)
			})
			if on < least {
				t.Errorf("%d segments are on disk, and should be %d to %d: %+v", on, least, most, st)
			}
			want := 1
			if st.Dropped == 0 {
				want = 0
			}
			if said := r.about("--keep deletes"); len(said) != want {
				t.Errorf("%q", r.said)
			}
			between.Set(nil)
			eventually(t, "what is left", func() bool { return r.a.Stats().Pending == 0 })
			if said := r.about("work again"); len(said) != 1 {
				t.Errorf("%q", r.said)
			}
			// Now that it is uploaded, --keep deletes what was held.
			r.segment(t)
			eventually(t, "that --keep is heeded", func() bool { return len(r.files(t)) <= 3 })
			r.close(t, time.Minute)
			if got, dropped := len(stored(t, url)), r.a.Stats().Dropped; got != 21-int(dropped) {
				t.Errorf("%d objects, and %d were dropped", got, dropped)
			}
		})
	}
}
