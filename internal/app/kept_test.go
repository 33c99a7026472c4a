package app

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/admin"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/csds"
	"github.com/xdsproxy/xdsproxy/internal/held"
	"github.com/xdsproxy/xdsproxy/internal/trigger"
	"github.com/xdsproxy/xdsproxy/internal/xdstest/heard"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/session"
)

// Nobody looks at what passes where rules are off and nobody wants to be told of it.
func TestWhoLooksOn(t *testing.T) {
	s, err := script.Parse("test", []byte("C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V= N=a R=[] err=\"no\"\n-- tick\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		rules bool
		with  func(a *Assembly)
		want  bool
	}{
		"nobody":         {false, func(*Assembly) {}, false},
		"rules":          {true, func(*Assembly) {}, true},
		"metrics":        {false, func(a *Assembly) { a.ops = &operations{metrics: admin.NewMetrics(nil)} }, true},
		"dumps":          {false, func(a *Assembly) { a.dumps = &dumps{trigger: trigger.New(nil, time.Minute)} }, true},
		"who is asked":   {false, func(a *Assembly) { a.held = &asking{held.Start(held.Options{})} }, true},
		"who is told":    {false, func(a *Assembly) { a.status = statusOf(a.Log) }, true},
		"all, and rules": {true, func(a *Assembly) { a.held, a.status = &asking{held.Start(held.Options{})}, statusOf(a.Log) }, true},
	} {
		for _, watched := range []bool{false, true} { // by a person at the screen
			set := map[string]string{"no-record": "true"}
			if !c.rules {
				set["no-check"] = "true"
			}
			h, out := told(t, set)
			rec, err := h.Record("")
			if err != nil {
				t.Fatal(err)
			}
			for e := range s.Entries() {
				rec.Append(e)
			}
			if err := rec.Close(); err != nil {
				t.Fatal(err)
			}
			a := &Assembly{Host: h, Log: rec}
			c.with(a)
			want := c.want
			if watched {
				want = want && name != "rules" // the screen has its own
				a.Count()
			} else {
				a.Oversee()
			}
			if got := rec.Past.seen() > 0; got != want {
				t.Errorf("%s, at the screen %v: looked at %v", name, watched, got)
			}
			if said := out.String(); watched && said != "" || strings.Contains(said, "failed") { // the screen shows it
				t.Errorf("%s, at the screen %v: said %s", name, watched, said)
			}
			if a.status != nil {
				a.status.View.Over()
				if r, err := a.status.View.Answer(t.Context(), nil); err != nil || len(r.Config) != 1 {
					t.Errorf("%s: %v clients are known, %v", name, r, err)
				}
			}
		}
	}
}

func statusOf(r *Recording) *StatusServer {
	return &StatusServer{View: csds.New(func() (csds.Reader, error) { return r.Reader() })}
}

// What rules had no time for is told: it is the last message that counts, and only where there are rules.
func TestAwaitJudged(t *testing.T) {
	over := make(chan struct{})
	close(over)
	for _, c := range []struct {
		judged, spoken session.Seq
		rules          bool
		want           string
	}{
		{5, 5, true, ""},
		{6, 5, true, ""},
		{0, 0, true, ""},
		{4, 5, false, ""},
		{4, 5, true, "xdsproxy: warning: the rules had no time for what was recorded from entry 5 on; xdsproxy check looks at it"},
	} {
		set := map[string]string{}
		if !c.rules {
			set["no-check"] = "true"
		}
		h, out := told(t, set)
		rec := &Recording{spoken: c.spoken}
		rec.Past.Note(c.judged, rec.Past.past)
		(&Assembly{Host: h, Log: rec}).AwaitJudged(t.Context(), over)
		if got := strings.Join(lines(out), "\n"); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	// Who is impatient does not wait, and nobody waits for ever.
	ended, end := context.WithCancel(t.Context())
	end()
	late := make(chan time.Time)
	close(late)
	h, _ := told(t, nil)
	(&Assembly{Host: h, Log: &Recording{}}).AwaitJudged(ended, make(chan struct{}))
	(&Assembly{Host: h, Log: &Recording{}, late: late}).AwaitJudged(t.Context(), make(chan struct{}))
}

// Who looks on while entries come needs an account of each only where a segment may begin; else it is made anew when it is needed.
func TestRecorderOptions(t *testing.T) {
	for name, c := range map[string]struct {
		set   map[string]string
		carry bool
	}{
		"one file":   {nil, false},
		"by size":    {map[string]string{"max-size": "1MiB"}, true},
		"by age":     {map[string]string{"max-age": "1h"}, true},
		"in memory":  {map[string]string{"no-record": "true"}, true},
		"no secrets": {map[string]string{"keep-secrets": "true"}, false},
	} {
		h, _ := told(t, c.set)
		o := h.RecorderOptions(&session.Buffers{})
		if (o.Carry != nil) != c.carry || (o.Recall != nil) == c.carry {
			t.Errorf("%s: carries %v, recalls %v", name, o.Carry != nil, o.Recall != nil)
		}
		needed := func() []session.Seq { return o.Carry() }
		step := o.Transform
		if !c.carry {
			step, needed = o.Recall()
		}
		for seq, kind := range []session.Kind{session.KindConnect, session.KindOpen} {
			step(&session.Entry{Seq: session.Seq(seq + 1), Conn: 1, Stream: session.StreamID(seq), Kind: kind, Method: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"})
		}
		if len(needed()) != 2 {
			t.Errorf("%s: a new segment begins with %v", name, needed())
		}
	}
}

// What is counted of a recording are connections and the last message.
func TestSpoken(t *testing.T) {
	h, _ := told(t, map[string]string{"no-record": "true"})
	rec, err := h.Record("")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []session.Kind{session.KindConnect, session.KindOpen, session.KindMessage, session.KindConnect, session.KindMessage, session.KindTrailer} {
		e := session.Entry{Conn: 1, Kind: kind}
		if kind == session.KindMessage {
			e.Message = &session.Message{}
		}
		rec.Append(e)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if rec.Conns != 2 || rec.spoken != 5 {
		t.Errorf("%d connections, and the last message is %d", rec.Conns, rec.spoken)
	}
}

// What can be reached from elsewhere where that is allowed, and what needs no leave.
func TestAssembled(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	for _, c := range []struct {
		set   map[string]string
		token string
		want  string // that people are told
	}{
		{map[string]string{"admin": "0.0.0.0:0"}, "", "health and metrics on http://"},
		{map[string]string{"admin": "unix:DIR/admin", "admin-pprof": "true"}, "", "health and metrics on unix:DIR/admin"},
		{map[string]string{"admin": "127.0.0.1:0", "admin-pprof": "true"}, "", "health and metrics on http://127.0.0.1:"},
		{map[string]string{"viewer": "0.0.0.0:0", "viewer-allow-remote": "true"}, "", "watch it with: XDSPROXY_VIEWER_TOKEN="},
		{map[string]string{"viewer": "127.0.0.1:0", "viewer-token-file": token}, "1234567890123456", "watch it with: xdsproxy watch 127.0.0.1:"},
		{map[string]string{"viewer": "127.0.0.1:0", "viewer-token-file": token}, "123456789012345", ""},
		{map[string]string{"viewer": "unix:DIR/viewer"}, "", " "},
		{map[string]string{"viewer": "off"}, "", " "},
		{map[string]string{"serve-csds": "127.0.0.1:0"}, "", "status of clients (CSDS) on 127.0.0.1:"},
		{map[string]string{"serve-csds": "unix:DIR/csds"}, "", "status of clients (CSDS) on unix:DIR/csds"},
		{map[string]string{"serve-csds": "0.0.0.0:0"}, "", ""},
		{map[string]string{"serve-csds": "0.0.0.0:0", "viewer-allow-remote": "true"}, "", "its calls need the metadata authorization: Bearer "},
	} {
		dir := t.TempDir()
		t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
		t.Setenv("XDG_RUNTIME_DIR", dir)
		t.Setenv("XDSPROXY_VIEWER_TOKEN", "")
		if err := os.WriteFile(token, []byte(c.token), 0o600); err != nil {
			t.Fatal(err)
		}
		own := map[string]string{"no-record": "true"}
		for name, value := range c.set {
			own[name] = strings.ReplaceAll(value, "DIR", dir)
		}
		h, out := told(t, own)
		s, err := h.Assemble(Design{Relay: h.RelayOf([]proxy.Pair{{Listen: proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}, Upstream: proxy.Addr{Network: "tcp", Address: "127.0.0.1:1"}}})})
		if (err != nil) != (c.want == "") {
			t.Errorf("%v: %v", c.set, err)
		}
		if err != nil {
			continue
		}
		s.Announce(t.Context(), func() { h.Tell("ready ") })()
		if text := strings.ReplaceAll(strings.Join(lines(out), "\n"), dir, "DIR"); !strings.Contains(text, c.want) {
			t.Errorf("%v: %s", c.set, text)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "xdsproxy")); (len(left) > 0) != (c.set["viewer"] == "" || strings.Contains(c.set["viewer"], ":0")) {
			t.Errorf("%v: %d sockets for viewers of this user", c.set, len(left))
		}
		s.Discard()
	}
}

// Which settings cannot be had together.
func TestContradiction(t *testing.T) {
	for _, c := range []struct {
		set        map[string]string
		path, goos string
		want       string
	}{
		{nil, "", "windows", ""},
		{map[string]string{"keep": "3"}, "", "linux", "--keep without --max-size or --max-age"},
		{map[string]string{"keep": "3", "max-size": "1MiB"}, "", "linux", ""},
		{map[string]string{"keep": "3", "max-age": "1h"}, "", "linux", ""},
		{map[string]string{"max-size": "1MiB"}, "", "windows", "do not work on Windows"},
		{map[string]string{"max-age": "1h"}, "", "windows", "do not work on Windows"},
		{map[string]string{"max-age": "1h", "no-record": "true"}, "", "windows", ""},
		{map[string]string{"max-age": "1h"}, "x", "linux", ""},
		{map[string]string{"no-record": "true"}, "x", "linux", "--no-record writes no file"},
		{map[string]string{"no-record": "true"}, "", "linux", ""},
	} {
		h, _ := told(t, c.set)
		got := ""
		if err := contradiction(h.Settings, c.path, c.goos); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%v %q on %s: %s, want %s", c.set, c.path, c.goos, got, c.want)
		}
	}
}

// An error of the network is told without the address, which is said anyway.
func TestNetCause(t *testing.T) {
	other := errors.New("no such host")
	for err, want := range map[error]error{
		other: other, &net.OpError{Op: "listen", Err: other}: other, os.NewSyscallError("bind", syscall.EADDRINUSE): syscall.EADDRINUSE,
		&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}: syscall.EADDRINUSE,
	} {
		if got := netCause(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

const rejected = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V= N=a R=[] err=\"no\"\n"

// recorded is a host with the recording of a script.
func recorded(t *testing.T, set map[string]string, text string) (*Assembly, *heard.Buffer) {
	t.Helper()
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	set["no-record"] = "true"
	h, out := told(t, set)
	rec, err := h.Record("")
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		rec.Append(e)
	}
	return &Assembly{Host: h, Log: rec}, out
}

// Dumps that were written are counted at the end, and those that were not.
func TestAwaitDumps(t *testing.T) {
	for _, c := range []struct {
		name, text string
		broken     bool
		skipped    uint64
		want       []string
	}{
		{"none", "", false, 0, nil},
		{"one", rejected, false, 0, []string{"wrote 1 dump to DIR"}},
		{"one, others were skipped", rejected, false, 3, []string{"wrote 1 dump to DIR", "xdsproxy: warning: 3 dumps could not be written"}},
		{"one that cannot be written", rejected, true, 0, []string{"xdsproxy: warning: 1 dump could not be written"}},
		{"one that cannot be written, another was skipped", rejected, true, 1, []string{"xdsproxy: warning: 2 dumps could not be written"}},
		{"several that cannot be written", rejected, true, 2, []string{"xdsproxy: warning: 3 dumps could not be written"}},
	} {
		dir := filepath.Join(t.TempDir(), "dumps")
		a, out := recorded(t, map[string]string{"dump-on": "nack-received", "dump-dir": dir, "log-format": "json"}, c.text)
		var err error
		if a.dumps, err = a.offerDumps(a.Log); err != nil {
			t.Fatal(err)
		}
		if c.broken && (os.RemoveAll(dir) != nil || os.WriteFile(dir, nil, 0o600) != nil) {
			t.Fatal("the directory is there")
		}
		if err := a.Log.Close(); err != nil {
			t.Fatal(err)
		}
		a.Oversee()
		a.dumps.skipped.Add(c.skipped)
		a.AwaitDumps(t.Context())
		var got []string
		for _, line := range lines(out) {
			if line != "" && line[0] != '{' { // no line of the log
				got = append(got, strings.ReplaceAll(line, dir, "DIR"))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	(&Assembly{}).AwaitDumps(t.Context())

	// Without a home there is no place for dumps, unless one is named.
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	h, _ := told(t, map[string]string{"dump-on": "nack-received"})
	_, err := h.offerDumps(nil)
	if f, is := errors.AsType[*console.Failure](err); !is || strings.Join(f.Hints, "") != "name a directory with --dump-dir" {
		t.Errorf("%v", err)
	}
}

// The log says what was found after what was seen on the screen, and nothing of that again.
func TestOverseeAfter(t *testing.T) {
	for after, want := range map[session.Seq]bool{0: true, 5: true, 6: false, 7: false} {
		a, out := recorded(t, map[string]string{}, rejected)
		if err := a.Log.Close(); err != nil {
			t.Fatal(err)
		}
		last := a.Log.spoken
		a.oversee(last-6+after, nil, nil, nil, nil)
		if got := strings.Contains(strings.Join(lines(out), "\n"), "nack-received"); got != want {
			t.Errorf("after entry %d, of %d: told %v", last-6+after, last, got)
		}
	}
}
