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
	"sync/atomic"
	"testing"
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
	o := Options{URL: url, Cluster: "mesh one", Name: "gw/0", Program: "xdsproxy tëst", Tell: r.tell, First: 5 * time.Millisecond, Most: 50 * time.Millisecond}
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
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
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
			var on int
			var st Stats
			eventually(t, "an account of all", func() bool {
				on, st = len(r.files(t)), r.a.Stats()
				return st.Dropped == uint64(20-on) && st.Pending == uint64(on)
			})
			dropped, least, most := uint64(20-on), 2, 3
			if hold > 0 {
				least, most = 2+int(min(hold/(10<<10), 18)), 2+1+int(min(hold/(9<<10), 17))
			}
			if on < least || on > most {
				t.Errorf("%d segments are on disk, and should be %d to %d: %+v", on, least, most, st)
			}
			want := 1
			if dropped == 0 {
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
			if got := len(stored(t, url)); got != 21-int(dropped) {
				t.Errorf("%d objects, and %d were dropped", got, dropped)
			}
		})
	}
}

// TestTold says each thing once: what somebody has to mend, that nothing works for
// long, and that it works again.
func TestTold(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	var status atomic.Int64
	var refusal atomic.Value
	refusal.Store("")
	between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if status.Load() == 0 {
			forward.ServeHTTP(w, r)
			return
		}
		s3test.Refuse(w, int(status.Load()), refusal.Load().(string))
	})
	r := run(t, t.TempDir(), "s3://fleet/", func(o *Options, _ *recorder.Options) { o.Stall = 300 * time.Millisecond })
	r.segment(t)
	eventually(t, "the first", func() bool { return r.a.Stats().Done == 1 })

	refusal.Store("SlowDown")
	status.Store(503)
	r.segment(t)
	eventually(t, "a stall that is told", func() bool { return len(r.about("nothing could be uploaded for")) > 0 })
	time.Sleep(400 * time.Millisecond)
	if len(r.said) != 1 {
		t.Errorf("%q", r.said)
	}
	status.Store(0)
	eventually(t, "the second", func() bool { return r.a.Stats().Done == 2 })
	eventually(t, "the recovery", func() bool { return len(r.about("work again")) == 1 })

	refusal.Store("AccessDenied")
	status.Store(403)
	r.segment(t)
	eventually(t, "the refusal", func() bool { return r.a.Stats().Errors > 20 })
	if said := r.about("recording goes on"); len(said) != 1 || !strings.Contains(said[0], "s3:PutObject") || !strings.Contains(said[0], "tried again") {
		t.Errorf("%q", r.said)
	}
	status.Store(0)
	eventually(t, "the third", func() bool { return r.a.Stats().Done == 3 })
	r.close(t, time.Minute)
	if said := r.about("work again"); len(said) != 2 {
		t.Errorf("%q", r.said)
	}
	arrived(t, "s3://fleet/", r)
}

// TestStalledEnd ends a run while the store does not answer: what is left is counted to
// the last segment, which ended meanwhile.
func TestStalledEnd(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	asked := make(chan struct{}, 100)
	between.Set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	r := run(t, t.TempDir(), "s3://fleet/", nil)
	r.segment(t)
	<-asked
	r.segment(t)
	r.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &session.Note{Text: "the last"}})
	if st := r.close(t, 100*time.Millisecond); st.Pending != 3 || st.Done != 0 {
		t.Errorf("%+v", st)
	}
}

// TestRefusedAlone has a store that refuses one segment as long as the run lasts: the
// others arrive nevertheless, and it is said once.
func TestRefusedAlone(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	var well atomic.Bool
	between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, ".000002.") && !well.Load() {
			s3test.Refuse(w, http.StatusRequestEntityTooLarge, "EntityTooLarge")
			return
		}
		forward.ServeHTTP(w, r)
	})
	dir := t.TempDir()
	r := run(t, dir, "s3://fleet/", nil)
	for n := uint64(1); n <= 6; n++ {
		r.segment(t)
		eventually(t, "all but the second", func() bool { return r.a.Stats().Done == max(n-1, 1) })
	}
	eventually(t, "more attempts", func() bool { return r.a.Stats().Errors > 10 })
	if said := r.about("EntityTooLarge"); len(said) != 1 || len(r.said) > 2 {
		t.Errorf("%q", r.said)
	}
	if st := r.close(t, time.Minute); st.Done != 5 || st.Pending != 1 || st.Failed+st.Dropped != 0 {
		t.Errorf("%+v", st)
	}
	well.Store(true)
	next := run(t, dir, "s3://fleet/", nil)
	eventually(t, "the second", func() bool { return next.a.Stats().Done == 6 })
	next.close(t, time.Minute)
	arrived(t, "s3://fleet/", r)
	if n := intentsIn(t, dir); n != 0 {
		t.Errorf("%d intents are left", n)
	}
}

// TestNowAndThen has a store that fails now and then: what works between resets the
// pause, so that a backlog does not take hours.
func TestNowAndThen(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	var puts atomic.Int64
	var off atomic.Bool
	off.Store(true)
	between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if off.Load() || r.Method == http.MethodPut && puts.Add(1)%2 == 0 {
			s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
			return
		}
		forward.ServeHTTP(w, r)
	})
	// Twelve pauses that double are more than an hour.
	r := run(t, t.TempDir(), "s3://fleet/", func(o *Options, _ *recorder.Options) { o.First, o.Most = 20*time.Millisecond, time.Hour })
	for range 12 {
		r.segment(t)
		if r.n == 1 {
			off.Store(false)
		}
	}
	eventually(t, "twelve segments", func() bool { return r.a.Stats().Done == 12 })
	if st := r.a.Stats(); st.Errors < 6 {
		t.Errorf("%+v", st)
	}
	r.close(t, time.Minute)
	arrived(t, "s3://fleet/", r)
}

// TestMissing is said at once where nothing has ever worked, and nothing is lost.
func TestMissing(t *testing.T) {
	s3test.Start(t, false)
	for what, set := range map[string]func(t *testing.T) string{
		"bucket nowhere does not exist": func(*testing.T) string { return "s3://nowhere/" },
		"no credentials were found":     func(t *testing.T) string { t.Setenv("AWS_ACCESS_KEY_ID", ""); return "s3://fleet/" },
		"cannot be reached":             func(t *testing.T) string { t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1"); return "s3://fleet/" },
	} {
		t.Run(what, func(t *testing.T) {
			r := run(t, t.TempDir(), set(t), nil)
			for range 3 {
				r.segment(t)
			}
			eventually(t, "some failures", func() bool { return r.a.Stats().Errors > 4 })
			st := r.close(t, time.Minute)
			if st.Pending != 3 || st.Dropped != 0 || len(r.files(t)) != 3 || len(r.said) != 1 || len(r.about(what)) != 1 {
				t.Errorf("%+v, %q", st, r.said)
			}
		})
	}
}

// TestTwoOfOneName has two proxies that are called the same: nothing collides, and it
// is said once.
func TestTwoOfOneName(t *testing.T) {
	s3test.Start(t, false)
	often := func(o *Options, _ *recorder.Options) { o.Look = time.Millisecond }
	x := run(t, t.TempDir(), "s3://fleet/", often)
	y := run(t, t.TempDir(), "s3://fleet/", often)
	for i := range 6 {
		if i == 3 {
			time.Sleep(1100 * time.Millisecond) // the clock of a store has seconds
		}
		x.segment(t)
		y.segment(t)
		eventually(t, "both", func() bool { return x.a.Stats().Done == uint64(i+1) && y.a.Stats().Done == uint64(i+1) })
	}
	for _, r := range []*at{x, y} {
		eventually(t, "a word", func() bool { return len(r.about("another proxy uploads under the name gw/0")) == 1 })
	}
	x.close(t, time.Minute)
	y.close(t, time.Minute)
	arrived(t, "s3://fleet/", x, y)

	// Who comes later is no reason for a word, where the other has ended.
	time.Sleep(1100 * time.Millisecond)
	z := run(t, t.TempDir(), "s3://fleet/", often)
	for range 3 {
		z.segment(t)
	}
	z.close(t, time.Minute)
	if len(z.said) != 0 {
		t.Errorf("%q", z.said)
	}
}

// TestClock has a store whose clock is elsewhere.
func TestClock(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	between.Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		forward.ServeHTTP(&dated{ResponseWriter: w, at: time.Now().Add(-7 * time.Minute)}, r)
	})
	r := run(t, t.TempDir(), "s3://fleet/", nil)
	for range 3 {
		r.segment(t)
	}
	r.close(t, time.Minute)
	if said := r.about("the clock of this machine is [67]m.* ahead of that of the store"); len(said) != 1 || len(r.said) != 1 {
		t.Errorf("%q", r.said)
	}
	s := r.a.o.Store
	for o := range s.List(context.Background(), "") {
		o, err := s.Stat(context.Background(), o.Key)
		ms, _ := strconv.Atoi(o.Meta["clock-skew-ms"])
		if err != nil || ms > -419_000 || ms < -421_000 {
			t.Errorf("%v, %v", o.Meta, err)
		}
	}
}

type dated struct {
	http.ResponseWriter
	at time.Time
}

func (d *dated) WriteHeader(status int) {
	d.Header().Set("Date", d.at.UTC().Format(http.TimeFormat))
	d.ResponseWriter.WriteHeader(status)
}

// TestLostFile goes on where the recording does when somebody takes its file away.
func TestLostFile(t *testing.T) {
	url := "file://" + t.TempDir() + "/"
	dir := t.TempDir()
	var r *at
	lost := make(chan recorder.Loss, 1)
	r = run(t, dir, url, func(_ *Options, ro *recorder.Options) {
		ro.OnLost = func(l recorder.Loss) { r.a.Moved(l.Next); lost <- l }
	})
	r.segment(t)
	first := r.path
	if err := os.Rename(r.path, filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.path, []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := <-lost
	r.path = l.Next
	r.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &session.Note{Text: "the last"}})
	st := r.close(t, time.Minute)
	if st.Done < 2 {
		t.Errorf("%+v, %q", st, r.said)
	}
	names := make(map[string]bool)
	for key := range stored(t, url) {
		names[key[strings.LastIndexByte(key, '/')+1:][:29]] = true
	}
	if len(names) != 1 {
		t.Errorf("recordings %v", names)
	}
	_ = first
}

// TestFlat holds no more memory the longer nothing can be uploaded, but for what a
// file costs.
func TestFlat(t *testing.T) {
	srv := s3test.Start(t, false)
	between := srv.Stand()
	release := make(chan struct{})
	defer close(release)
	between.Set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	r := run(t, t.TempDir(), "s3://fleet/", nil)
	for range 20 {
		r.segment(t)
	}
	before := heapInUse()
	for range 180 {
		r.segment(t)
	}
	eventually(t, "that all are known", func() bool { return r.a.Stats().Pending == 200 })
	if grown := heapInUse() - before; grown > 512<<10 { // the segments have 1.7 MB
		t.Errorf("%d bytes more after 180 segments", grown)
	}
}

// TestNames are in keys what they were.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"gw-0.ns_1": "gw-0.ns_1", "a/b": "a%2Fb", "..": "%2E.", ".": "%2E", "a=b&c": "a%3Db%26c", "ü \"x'": "%C3%BC%20%22x%27", "50%": "50%25", "a:b+c~d@e$f": "a%3Ab%2Bc%7Ed%40e%24f",
	} {
		if got := Escape(name); got != want {
			t.Errorf("%q is %q, not %q", name, got, want)
		}
	}
}
