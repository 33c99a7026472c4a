package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/internal/xdstest/heard"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// told is a host whose settings are set, and what it tells people.
func told(t *testing.T, set map[string]string) (*Host, *heard.Buffer) {
	t.Helper()
	out := new(heard.Buffer)
	h := silent()
	h.Stderr = out
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	for _, s := range h.Settings.Table {
		flags.AddFlag(&pflag.Flag{Name: s.Name, Value: s.Value})
	}
	for name, value := range set {
		if err := flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Settings.Resolve(h.Console, flags); err != nil {
		t.Fatal(err)
	}
	h.Logger = NewLogger(h.Console, h.Settings, false)
	return h, out
}

// words are what was told, without what is different each time.
func words(dir string, out *heard.Buffer, err error) string {
	text := strings.Join(lines(out), "\n") + "\n"
	if err != nil {
		text += "error: " + err.Error() + "\n"
		if f, is := errors.AsType[*console.Failure](err); is {
			text += "hints: " + strings.Join(f.Hints, "; ") + "\n"
		}
	}
	text = strings.ReplaceAll(text, dir, "DIR")
	for pattern, with := range map[string]string{
		`127\.0\.0\.1:\d+`: "127.0.0.1:PORT", `TOKEN=\S+`: "TOKEN=T", `Bearer [^ ;]+`: "Bearer T", `\d{4}-\d\d-\d\dT[0-9:.]+Z|\d\d:\d\d:\d\d\.\d+`: "TIME", `[0-9.]+ (KiB|B)\b`: "N B",
		`\d{8}T?-?\d{6}\S*\.xdsp`: "WHEN.xdsp",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

// A proxy with all that it can offer: clients get through it what a control plane sends, and
// those who run it are told where everything is, that it is ready, and what came of it.
func TestAssembly(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	t.Setenv("XDG_RUNTIME_DIR", dir)
	watched := filepath.Join(dir, "files")
	if err := os.Mkdir(watched, 0o700); err != nil {
		t.Fatal(err)
	}
	control, err := xdstest.StartControlPlane(xdstest.Options{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer control.Stop()
	if err := control.Set(t.Context(), "n1", xdstest.World{Clusters: []*clusterv3.Cluster{{Name: "web"}}}); err != nil {
		t.Fatal(err)
	}
	h, out := told(t, map[string]string{
		"admin": "127.0.0.1:0", "admin-pprof": "true", "serve-csds": "127.0.0.1:0", "viewer": "127.0.0.1:0", "dump-on": "nack-received", "dump-dir": filepath.Join(dir, "dumps"),
		"files": watched, "archive": "file://" + filepath.Join(dir, "archive"), "archive-cluster": "c", "archive-name": "proxy",
	})
	up, err := proxy.ParseAddr(control.Addr())
	if err != nil {
		t.Fatal(err)
	}
	pairs := []proxy.Pair{{Listen: proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}, Upstream: up}}
	bound := 0
	s, err := h.Assemble(Design{
		Path: filepath.Join(dir, "s.xdsp"), Relay: h.RelayOf(pairs), Archived: true,
		Begin: &session.Note{Code: "test", Text: "it begins"},
		Bound: func(at []net.Addr) error { bound += len(at); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if bound != 1 || len(s.Routes) != 1 || s.Routes[0].Upstream != control.Addr() || s.Routes[0].Listen != s.Proxy.Addrs()[0].String() {
		t.Errorf("%d bound, routes %+v", bound, s.Routes)
	}
	serving, stop := context.WithCancel(t.Context())
	get := func(path string) (int, string) {
		r, err := http.Get("http://" + s.ops.addr.String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(text)
	}
	if code, _ := get("/readyz"); code == http.StatusOK {
		t.Error("it is ready before it says so")
	}
	forget := s.Announce(serving, func() { h.Tell("listening") })
	defer forget()
	if code, text := get("/readyz"); code != http.StatusOK {
		t.Errorf("it is not ready: %d, %s", code, text)
	}
	var work sync.WaitGroup
	over := make(chan struct{})
	work.Go(func() { defer close(over); s.Oversee() })
	served := make(chan error, 1)
	go func() { served <- s.Proxy.Serve(serving) }()

	client := xdstest.NewSotWClient(xdstest.ClientOptions{Dial: s.Proxy.Addrs()[0].String(), Node: &corev3.Node{Id: "n1"}})
	running, leave := context.WithCancel(t.Context())
	work.Go(func() { _ = client.Run(running) })
	if err := client.Wait(t.Context(), func(st xdstest.SotWState) bool { return len(st.Accepted) > 0 }); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(30 * time.Second); ; {
		if time.Now().After(until) {
			t.Fatal("nothing is counted")
		}
		if _, text := get("/metrics"); regexp.MustCompile(`(?m)^xdsproxy_\S*acks?\S* [1-9]`).MatchString(text) {
			break
		}
	}
	if code, _ := get("/debug/pprof/"); code != http.StatusOK {
		t.Errorf("there are no profiles: %d", code)
	}
	if name, err := os.Readlink(filepath.Join(dir, "state", "xdsproxy", "last")); err == nil && name != s.Log.Path() {
		t.Errorf("@last is %s", name)
	}
	leave()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	impatient := t.Context()
	if err := s.Close(impatient); err != nil {
		t.Error(err)
	}
	s.AwaitJudged(impatient, over)
	s.AwaitDumps(impatient)
	s.AwaitArchive(impatient)
	work.Wait()
	s.Log.Account(h.Console)
	facts, err := recorder.Inspect(filepath.Join(dir, "s.xdsp"))
	if err != nil || !facts.Complete || facts.Messages < 3 || s.Log.Conns != 1 || s.Log.Place() != facts.Path {
		t.Errorf("%d connections, %+v, %v", s.Log.Conns, facts, err)
	}
	uploaded := 0
	_ = filepath.WalkDir(filepath.Join(dir, "archive"), func(_ string, e os.DirEntry, _ error) error {
		if !e.IsDir() {
			uploaded++
		}
		return nil
	})
	if uploaded == 0 {
		t.Error("nothing was uploaded")
	}
	text := regexp.MustCompile(`\d+ messages?`).ReplaceAllString(words(dir, out, nil), "N messages")
	golden.Is(t, "testdata/assembly.txt", text)
}

// What cannot be assembled says why, and leaves nothing behind.
func TestNotAssembled(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := taken.Addr().String()
	var got bytes.Buffer
	for _, set := range []map[string]string{
		{"keep": "3"},
		{"no-record": "true"},
		{"admin-pprof": "true"},
		{"admin": "0.0.0.0:0", "admin-pprof": "true"},
		{"admin": at},
		{"serve-csds": at},
		{"viewer": at},
		{"viewer": "0.0.0.0:0"},
		{"viewer": "127.0.0.1:0", "viewer-token-file": "DIR/nowhere"},
		{"viewer": "127.0.0.1:0", "viewer-token-file": "DIR/short"},
		{"viewer": "unix:DIR/none/v"},
		{"serve-csds": "unix:DIR/none/c"},
		{"dump-on": "nack-received", "dump-dir": "DIR/short"},
		{"envoy-bootstrap": "DIR/short"},
		{"files": "DIR/nowhere"},
		{"files": "DIR", "envoy-bootstrap": "DIR/nowhere"},
		{"files": "DIR", "envoy-bootstrap": "DIR/short"},
		{"archive": "ftp://x"},
	} {
		dir := t.TempDir()
		t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
		t.Setenv("XDG_RUNTIME_DIR", dir)
		if err := os.WriteFile(filepath.Join(dir, "short"), []byte("short"), 0o600); err != nil {
			t.Fatal(err)
		}
		var said []string
		own := map[string]string{}
		for name, value := range set {
			said, own[name] = append(said, "--"+name+" "+value), strings.ReplaceAll(value, "DIR", dir)
		}
		if len(said) == 2 && said[0] > said[1] {
			said[0], said[1] = said[1], said[0]
		}
		h, out := told(t, own)
		path := filepath.Join(dir, "s.xdsp")
		s, err := h.Assemble(Design{Path: path, Archived: true, Relay: h.RelayOf([]proxy.Pair{{
			Listen: proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}, Upstream: proxy.Addr{Network: "tcp", Address: at},
		}})})
		if err == nil {
			s.Discard()
		}
		got.WriteString("== " + strings.ReplaceAll(strings.Join(said, " "), at, "TAKEN") + "\n" + words(dir, out, err))
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s: a recording is left", said)
		}
	}
	golden.Is(t, "testdata/not-assembled.txt", got.String())
}

// Where it cannot listen, the hint says what may help.
func TestUnbound(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	var got strings.Builder
	for _, at := range []proxy.Addr{
		{Network: "tcp", Address: taken.Addr().String()},
		{Network: "tcp", Address: "192.0.2.1:18000"},
		{Network: "unix", Address: filepath.Join(dir, "none", "s")},
	} {
		h, out := told(t, nil)
		_, err := h.Assemble(Design{Path: filepath.Join(dir, "s.xdsp"), Alone: true, Relay: h.RelayOf([]proxy.Pair{{Listen: at, Upstream: proxy.Addr{Network: "tcp", Address: "127.0.0.1:1"}}})})
		if err == nil {
			t.Fatalf("it listens on %v", at)
		}
		got.WriteString(words(dir, out, err))
	}
	golden.Is(t, "testdata/unbound.txt", got.String())
}

// The account of a recording says what is in it, where, and how to read it.
func TestAccount(t *testing.T) {
	var got strings.Builder
	for _, ring := range []bool{false, true} {
		dir := t.TempDir()
		t.Setenv("XDG_STATE_HOME", dir)
		set := map[string]string{}
		if ring {
			set["no-record"] = "true"
		}
		h, out := told(t, set)
		rec, err := h.Record("")
		if err != nil {
			t.Fatal(err)
		}
		for conn := range session.ConnID(3) {
			rec.Append(session.Entry{Kind: session.KindConnect, Conn: conn + 1})
			rec.Append(session.Entry{Kind: session.KindMessage, Conn: conn + 1, Message: &session.Message{}})
		}
		if err := rec.Announce(); err != nil {
			t.Error(err)
		}
		if err := rec.Close(); err != nil {
			t.Error(err)
		}
		rec.Account(h.Console)
		rec.files = 2
		rec.wrong.Store(true)
		rec.Account(h.Console)
		rec.Conns = 0
		rec.Account(h.Console)
		got.WriteString("== in memory: " + map[bool]string{true: "yes", false: "no"}[ring] + "\n" + words(dir, out, nil))
	}
	golden.Is(t, "testdata/account.txt", got.String())
}

// Of a recording that is gone it is said that nothing is left of it, and no command reads it.
func TestAccountOfNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	h, out := told(t, nil)
	rec, err := h.Record("")
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(rec.Path()); err != nil {
		t.Fatal(err)
	}
	rec.Account(h.Console)
	if got := words(dir, out, nil); !strings.Contains(got, "nothing is left of what was recorded since: ") || strings.Contains(got, "read it with") {
		t.Errorf("it says %s", got)
	}
}
