package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/admin"
	"github.com/xdsproxy/xdsproxy/internal/csds"
	"github.com/xdsproxy/xdsproxy/internal/trigger"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/session"
)

// Nobody looks at what passes where rules are off and nobody wants to be told of it.
func TestWhoLooksOn(t *testing.T) {
	s, err := script.Parse("test", []byte("C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\n-- tick\n"))
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
		"who is asked":   {false, func(a *Assembly) { a.held = &asking{} }, true},
		"who is told":    {false, func(a *Assembly) { a.status = statusOf(a.Log) }, true},
		"all, and rules": {true, func(a *Assembly) { a.held, a.status = &asking{}, statusOf(a.Log) }, true},
	} {
		for _, watched := range []bool{false, true} { // by a person at the screen
			set := map[string]string{"no-record": "true"}
			if !c.rules {
				set["no-check"] = "true"
			}
			h, _ := told(t, set)
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
		if got := strings.Join(out.lines(), "\n"); got != c.want {
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
		if text := strings.ReplaceAll(strings.Join(out.lines(), "\n"), dir, "DIR"); !strings.Contains(text, c.want) {
			t.Errorf("%v: %s", c.set, text)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "xdsproxy")); (len(left) > 0) != (c.set["viewer"] == "" || strings.Contains(c.set["viewer"], ":0")) {
			t.Errorf("%v: %d sockets for viewers of this user", c.set, len(left))
		}
		s.Discard()
	}
}
