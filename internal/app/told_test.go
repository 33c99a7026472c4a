package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/files"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/held"
	"github.com/xdsproxy/xdsproxy/internal/trigger"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui"
)

// What people are told while a proxy is at work, of what is around it.
func TestTold(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("XDSPROXY_VIEWER_TOKEN", "")
	var got strings.Builder
	tell := func(name string, set map[string]string, f func(h *Host)) {
		h, out := told(t, set)
		f(h)
		fmt.Fprintf(&got, "== %s\n%s", name, strings.TrimPrefix(words(dir, out, nil), "\n"))
	}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	// SIGHUP, by what became of the configuration file.
	tell("hang-up, no configuration file", nil, (*Host).reread)
	tell("hang-up, files are watched", map[string]string{"files": dir}, (*Host).reread)
	config := file("xdsproxy.yaml", "drain: 5s\n")
	for _, c := range []struct {
		name, then string
		change     func() error
	}{
		{"as it was", "drain: 5s\n", func() error { return nil }},
		{"changed", "drain: 5s\n", func() error { return os.WriteFile(config, []byte("drain: 6s\n"), 0o600) }},
		{"wrong", "drain: 5s\n", func() error { return os.WriteFile(config, []byte("drain: soon\n"), 0o600) }},
		{"gone", "drain: 5s\n", func() error { return os.Remove(config) }},
	} {
		tell("hang-up, a configuration file that is "+c.name, nil, func(h *Host) {
			h.Settings.Path, h.Settings.Text = config, []byte(c.then)
			if err := c.change(); err != nil {
				t.Fatal(err)
			}
			h.reread()
		})
	}

	// What of TLS a person must know.
	authority := xdstest.NewAuthority("test")
	dated := func(name string, from, until time.Duration) (cert, key string) {
		c := authority.Issue(xdstest.Leaf{NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until)})
		cert, key, err := c.Write(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	fine, fineKey := dated("fine", -time.Hour, time.Hour)
	old, oldKey := dated("old", -2*time.Hour, -time.Hour)
	early, earlyKey := dated("early", time.Hour, 2*time.Hour)
	up := proxy.Addr{Network: "tcp", Address: "istiod.istio-system.svc:15012"}
	tell("security", nil, func(h *Host) {
		h.AnnounceSecurity([]proxy.Pair{
			{Upstream: up},
			{Upstream: up, UpstreamTLS: &proxy.UpstreamTLS{Insecure: true, Cert: fine, Key: fineKey}, ListenTLS: &proxy.ListenTLS{Cert: fine, Key: fineKey}},
			{Upstream: up, UpstreamTLS: &proxy.UpstreamTLS{Cert: old, Key: oldKey}, ListenTLS: &proxy.ListenTLS{Cert: early, Key: earlyKey}},
			{Upstream: up, UpstreamTLS: &proxy.UpstreamTLS{Cert: "nowhere"}, ListenTLS: &proxy.ListenTLS{CADir: dir}},
			{Upstream: up, ListenTLS: &proxy.ListenTLS{CADir: dir}},
		})
	})

	// Clients that are asked, files that are watched, dumps.
	place := &held.Place{}
	tell("held", nil, func(h *Host) {
		h.saidOfHeld(&held.News{Place: place, Node: "n1"})
		h.saidOfHeld(&held.News{Place: place, Fault: "connection refused", Hint: "is it there?"})
		h.saidOfHeld(&held.News{Place: place, Fault: "connection refused"})
		h.saidOfHeld(&held.News{Place: place, Notes: []string{"one", "two"}})
	})
	tell("files", nil, func(h *Host) {
		h.saidOfFiles(&files.News{Text: "it is read"})
		h.saidOfFiles(&files.News{Text: "it is not read", Hint: "is it there?", Wrong: true})
	})
	tell("dumps", nil, func(h *Host) {
		d := &dumps{h: h}
		m := &trigger.Moment{What: "nack-received", Client: "n1", Seq: 7}
		for _, err := range []error{nil, errors.New("disk full"), errors.New("disk full"), nil, errors.New("disk full")} {
			d.said(m, filepath.Join(dir, "a b.zip"), 2048, err)
		}
		d.said(&trigger.Moment{What: "type:cds", Seq: 8}, filepath.Join(dir, "a.xdsp"), 2048, nil)
		if len(d.failed) != 3 {
			t.Errorf("the trigger is told of %d", len(d.failed))
		}
	})

	// How to watch from elsewhere.
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9902}
	tell("views, a token that was made", nil, func(h *Host) { h.announceViews(&viewers{remote: at, made: true, token: "secret"}) })
	tell("views, a token from a file", map[string]string{"viewer-token-file": "a b"}, func(h *Host) { h.announceViews(&viewers{remote: at}) })
	tell("views, a token from the environment", map[string]string{"verbose": "true"}, func(h *Host) { h.announceViews(&viewers{remote: at, local: "s"}) })
	tell("views, here only", nil, func(h *Host) { h.announceViews(&viewers{local: "s"}) })
	tell("health on a socket", nil, func(h *Host) {
		(&operations{addr: &net.UnixAddr{Net: "unix", Name: "s"}}).announce(h.Console)
		(*operations)(nil).announce(h.Console)
		(&StatusServer{addr: at, token: "T"}).Announce(h.Console)
		(*StatusServer)(nil).Announce(h.Console)
	})
	golden.Is(t, "testdata/told.txt", regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(got.String(), "DATE"))
}

// What may help against each reason for not being able to listen.
func TestUnboundHints(t *testing.T) {
	tcp, unix := proxy.Addr{Network: "tcp", Address: "10.0.0.1:80"}, proxy.Addr{Network: "unix", Address: "/run/x"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&proxy.ListenError{Addr: tcp, Err: syscall.EADDRINUSE}, "another program listens there; choose another port with --listen, or let --listen 10.0.0.1:0 find a free one"},
		{&proxy.ListenError{Addr: unix, Err: syscall.EADDRINUSE}, "another program listens there; choose another path with --listen"},
		{&proxy.ListenError{Addr: tcp, Err: syscall.EACCES}, "choose a port above 1023, or a directory that you may write to, with --listen"},
		{&proxy.ListenError{Addr: tcp, Err: syscall.EADDRNOTAVAIL}, "--listen must name an address of this machine"},
		{&proxy.ListenError{Addr: tcp, Err: syscall.EMFILE}, ""},
		{syscall.EADDRINUSE, ""},
	} {
		f, _ := errors.AsType[*console.Failure](Unbound(c.err))
		if got := strings.Join(f.Hints, "; "); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

// However the screen ends: a person who has had enough stops the proxy; otherwise it goes on, and the log says what rules find after that.
func TestAttended(t *testing.T) {
	for name, c := range map[string]struct {
		draw    func(context.Context) (tui.Outcome, error)
		stopped bool
		want    string
	}{
		"enough":       {func(context.Context) (tui.Outcome, error) { return tui.Stopped, nil }, true, ""},
		"detached":     {func(context.Context) (tui.Outcome, error) { return tui.Detached, nil }, false, "detached: the proxy goes on, and records memory; ctrl+c stops it"},
		"a broken one": {func(context.Context) (tui.Outcome, error) { return tui.Stopped, errors.New("no such terminal") }, false, "error the screen ended; forwarding and recording go on"},
		"a hung-up one": {func(ctx context.Context) (tui.Outcome, error) {
			if self, err := os.FindProcess(os.Getpid()); err != nil || self.Signal(syscall.SIGHUP) != nil {
				return tui.Stopped, errors.New("no signal")
			}
			<-ctx.Done()
			return tui.Stopped, nil
		}, true, "warn the terminal is gone; the proxy goes on until the last client has left"},
	} {
		t.Run(name, func(t *testing.T) {
			h, out := told(t, map[string]string{"no-record": "true"})
			rec, err := h.Record("")
			if err != nil {
				t.Fatal(err)
			}
			p, err := proxy.Listen(proxy.Config{Pairs: []proxy.Pair{{Listen: proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}, Upstream: proxy.Addr{Network: "tcp", Address: "127.0.0.1:1"}}}, Log: rec, Logger: h.Logger})
			if err != nil {
				t.Fatal(err)
			}
			defer p.CloseListeners()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stopped := make(chan struct{})
			over := make(chan struct{})
			go func() {
				defer close(over)
				(&Assembly{Host: h, Log: rec, Proxy: p}).Attended(ctx, func() { close(stopped) }, c.draw)
			}()
			if c.stopped {
				<-stopped
			}
			if err := rec.Close(); err != nil {
				t.Error(err)
			}
			cancel()
			<-over
			select {
			case <-stopped:
				if !c.stopped {
					t.Error("the proxy is stopped")
				}
			default:
			}
			if text := strings.Join(lines(out), "\n"); !strings.Contains(text, c.want) || c.want == "" && text != "" {
				t.Errorf("told is %s; want %s", text, c.want)
			}
		})
	}
}

// Several who look: who is the furthest speaks for all.
func TestRemembered(t *testing.T) {
	r := &remembered{}
	for _, at := range []session.Seq{3, 7, 5} {
		m := r.past
		m.Forgotten = uint64(at)
		r.Note(at, m)
	}
	if r.seen() != 7 || r.forgotten() != 7 {
		t.Errorf("at %d, forgotten %d", r.seen(), r.forgotten())
	}
}

// What is found makes a recording wrong, unless it is a mere note.
func TestWrong(t *testing.T) {
	for severity, want := range map[check.Severity]bool{check.Info: false, check.Warning: true, check.Error: true} {
		r := &Recording{}
		r.Note([]check.Finding{{Severity: check.Info}, {Severity: severity}})
		if r.wrong.Load() != want {
			t.Errorf("%v: wrong %v", severity, !want)
		}
	}
}
