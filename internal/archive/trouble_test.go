package archive

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects/s3test"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

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
