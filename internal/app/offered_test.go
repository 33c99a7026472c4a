package app

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/held"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/proxy/mint"
	"github.com/xdsproxy/xdsproxy/session"
)

// assembled is a proxy that nobody comes to.
func assembled(t *testing.T, h *Host, d Design, pairs ...proxy.Pair) *Assembly {
	t.Helper()
	for i := range pairs {
		pairs[i].Listen, pairs[i].Upstream = proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}, proxy.Addr{Network: "tcp", Address: fmt.Sprint("127.0.0.1:", i+1)}
	}
	d.Relay = h.RelayOf(pairs)
	s, err := h.Assemble(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The screen says of each pair how it is secured: whether clients are asked for a
// certificate, and which root they have to trust.
func TestRoutes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	cert, key, err := xdstest.NewAuthority("test").Issue(xdstest.Leaf{NotAfter: time.Now().Add(time.Hour)}).Write(dir, "own")
	if err != nil {
		t.Fatal(err)
	}
	h, _ := told(t, map[string]string{"no-record": "true"})
	s := assembled(
		t, h, Design{Alone: true},
		proxy.Pair{},
		proxy.Pair{UpstreamTLS: &proxy.UpstreamTLS{}},
		proxy.Pair{UpstreamTLS: &proxy.UpstreamTLS{Insecure: true}},
		proxy.Pair{ListenTLS: &proxy.ListenTLS{Cert: cert, Key: key}},
		proxy.Pair{ListenTLS: &proxy.ListenTLS{Cert: cert, Key: key, ClientAuth: proxy.AuthRequire, ClientCA: cert}},
		proxy.Pair{ListenTLS: &proxy.ListenTLS{CADir: dir}},
	)
	defer s.Discard()
	var got []string
	for i, r := range s.Routes {
		if r.Listen != s.Proxy.Addrs()[i].String() || r.Upstream != fmt.Sprint("127.0.0.1:", i+1) {
			t.Errorf("%d: %+v", i, r)
		}
		got = append(got, fmt.Sprintln(r.Unverified, r.Secure, r.Asked, r.Roots))
	}
	want := "false false false \nfalse false false \ntrue false false \nfalse true false \nfalse true true \nfalse true false " + filepath.Join(dir, mint.CertFile) + "\n"
	if strings.Join(got, "") != want {
		t.Errorf("unverified, secure, asked, roots:\n%swant\n%s", strings.Join(got, ""), want)
	}
}

// What could not be uploaded is told of, and the screen knows of it.
func TestNotUploaded(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	for what, c := range map[string]struct{ done, pending, failed uint64 }{"fine": {done: 1}, "no store": {pending: 1}, "no segment": {failed: 1}} {
		to, path := filepath.Join(dir, "archive "+what), filepath.Join(dir, what+".xdsp")
		h, out := told(t, map[string]string{"archive": "file://" + to, "archive-name": "proxy"})
		s := assembled(t, h, Design{Alone: true, Archived: true, Path: path}, proxy.Pair{})
		s.Log.Append(session.Entry{Kind: session.KindConnect, Conn: 1})
		if what == "no store" && (os.RemoveAll(to) != nil || os.WriteFile(to, nil, 0o600) != nil) {
			t.Fatal("the archive is there")
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if what == "no segment" && os.WriteFile(path, []byte("no recording"), 0o600) != nil {
			t.Fatal("the segment is there")
		}
		s.AwaitArchive(t.Context())
		text, stats := words(dir, out, nil), s.Log.Archive()()
		if counted := s.Log.archiveCounter()(); counted.Done != stats.Done || counted.Pending != stats.Pending || counted.Failed != stats.Failed {
			t.Errorf("%s: counted are %+v, shown %+v", what, counted, stats)
		}
		const left = "xdsproxy: warning: 1 segment, N B, could not be uploaded and stay on disk; the next run with the same --archive that records into the same directory uploads them"
		if fine := c.done == 1; strings.Contains(text, left) == fine || strings.Contains(text, "uploaded 1 segment, N B, to file://DIR/") != fine || strings.Contains(text, "archive: ") == fine {
			t.Errorf("%s:\n%s", what, text)
		}
		if strings.Contains(text, " 0 segments") || strings.Contains(text, "()") {
			t.Errorf("%s: it says what is not there:\n%s", what, text)
		}
		if stats.Done != c.done || stats.Pending != c.pending || stats.Failed != c.failed || stats.DoneBytes > 0 != (c.done > 0) || stats.PendingBytes > 0 != (c.pending > 0) {
			t.Errorf("%s: %+v", what, stats)
		}
	}
	h, out := told(t, map[string]string{"no-record": "true"})
	s := assembled(t, h, Design{Alone: true}, proxy.Pair{})
	defer s.Discard()
	if s.AwaitArchive(t.Context()); s.Log.Archive() != nil || s.Log.archiveCounter() != nil || strings.Contains(out.String(), "segment") {
		t.Errorf("where nothing is archived, it says %q", out.String())
	}
}

// A moment for a dump may be what a filter finds, also where no rule looks.
func TestDumpsByFilter(t *testing.T) {
	for filter, want := range map[string]bool{"kind:nack client:n1": true, "kind:nack client:n2": false} {
		dir := filepath.Join(t.TempDir(), "dumps")
		a, out := recorded(t, map[string]string{"dump-on": filter, "dump-dir": dir, "no-check": "true"}, rejected)
		var err error
		if a.dumps, err = a.offerDumps(a.Log); err != nil || a.dumps == nil {
			t.Fatalf("%v, %v", a.dumps, err)
		}
		if err := a.Log.Close(); err != nil {
			t.Fatal(err)
		}
		a.Oversee()
		a.AwaitDumps(t.Context())
		if strings.Contains(out.String(), "wrote 1 dump to "+dir) != want || a.dumps.stats().Written > 0 != want {
			t.Errorf("%s: %s", filter, out)
		}
	}
}

// A bootstrap says which files are watched. That it names none is told.
func TestFilesOfABootstrap(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	for text, none := range map[string]bool{
		`{"dynamic_resources":{"cds_config":{"path_config_source":{"path":"` + dir + `/cds.yaml"}}}}`: false,
		`{"dynamic_resources":{"cds_config":{"ads":{}}}}`:                                             true,
	} {
		name := filepath.Join(dir, "bootstrap.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		h, out := told(t, map[string]string{"no-record": "true", "files": dir, "envoy-bootstrap": name, "viewer": "off"})
		s := assembled(t, h, Design{}, proxy.Pair{})
		s.Discard()
		if told := strings.Contains(out.String(), "subscribes to no file"); told != none {
			t.Errorf("%s\n%s", text, out)
		}
	}
}

// whoAsks asks one client what it holds, each time by which asked has another one.
func whoAsks(t *testing.T) (k *asking, asked <-chan struct{}) {
	t.Helper()
	heard := make(chan struct{}, 10)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard <- struct{}{} }))
	t.Cleanup(s.Close)
	place, err := held.Parse(held.EnvoyAdmin, s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	k = &asking{held.Start(held.Options{
		Places: []held.Place{place}, Interval: time.Hour, Append: func(session.Entry) session.Seq { return 0 }, Said: func(*held.News) {},
	})}
	t.Cleanup(k.close)
	return k, heard
}

// That files have changed is a reason to ask clients what they hold, if any is asked, and
// so is an answer of theirs.
func TestWhatWakesWhoAsks(t *testing.T) {
	(*asking)(nil).wake()
	(*asking)(nil).step(&check.Change{Change: engine.Change{What: engine.ACK}})
	for name, wake := range map[string]func(k *asking){
		"files":  (*asking).wake,
		"an ACK": func(k *asking) { k.step(&check.Change{Change: engine.Change{What: engine.ACK}}) },
		"a NACK": func(k *asking) { k.step(&check.Change{Change: engine.Change{What: engine.NACK}}) },
	} {
		k, asked := whoAsks(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for range 2 { // the first time it asks by itself, and long after that nothing else would wake it
			select {
			case <-asked:
			case <-ctx.Done():
				t.Fatalf("it does not ask after %s", name)
			}
			wake(k)
		}
		cancel()
	}
}
