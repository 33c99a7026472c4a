package held

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/session"
)

// log is what a Keeper hands on.
type log struct {
	mu      sync.Mutex
	entries []session.Entry
	news    []News
}

func (l *log) Append(e session.Entry) session.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
	return session.Seq(len(l.entries))
}

func (l *log) said(n *News) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.news = append(l.news, *n)
}

// words are what was handed on: whole, change, or why there is nothing. That nothing
// has changed for some seconds is not counted: a slow machine hears it more often.
func (l *log) words() (out []string) {
	nothing := len(response(appendText(nil, 1, "envoy"), nil))
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		switch {
		case e.Held.Failed != "":
			out = append(out, e.Held.Failed)
		case e.Held.Whole:
			out = append(out, "whole")
		case e.Message.Size > int64(nothing):
			out = append(out, "change")
		}
	}
	return out
}

func (l *log) hints() (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.news {
		if n.Fault != "" {
			out = append(out, n.Hint)
		}
	}
	return out
}

// asking starts a Keeper of one place, which asks as often as it may.
func asking(t *testing.T, source Source, addr string, a Access) (*log, *Keeper) {
	t.Helper()
	p, err := Parse(source, addr)
	if err != nil {
		t.Fatal(err)
	}
	l := &log{}
	k := Start(Options{Places: []Place{p}, Access: a, Interval: time.Millisecond, Append: l.Append, Said: l.said})
	t.Cleanup(k.Close)
	return l, k
}

// looks waits until the client was asked so many times more.
func looks(t *testing.T, k *Keeper, n uint64) {
	t.Helper()
	for want := k.Stats().Asked + n + 1; k.Stats().Asked < want; {
		select {
		case <-t.Context().Done():
			t.Fatal("it is asked no more")
		case <-time.After(time.Millisecond):
		}
	}
}

func real(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../configdump/testdata/secrets.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What is no admin endpoint, or does not want to be one, is told once, in one sentence
// with what may help, however often it is asked.
func TestBadInput(t *testing.T) {
	dump := real(t)
	endless := func(w http.ResponseWriter, first string) {
		fmt.Fprint(w, first)
		block := []byte(strings.Repeat(`{"a":"b"},`, 10_000))
		for {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		handle     http.HandlerFunc
		tls        bool
		says, hint string
	}{
		"a page":    {handle: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!DOCTYPE html><p>hello") }, says: "it answers with a page, and not with a config_dump", hint: hintAdmin},
		"nothing":   {handle: func(http.ResponseWriter, *http.Request) {}, says: "its answer is empty", hint: hintAdmin},
		"not found": {handle: http.NotFound, says: `it answers 404: "404 page not found"`, hint: hintAdmin},
		"a redirect": {handle: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, says: `it answers 302: "<a href=\"http://127.0.0.1:1/\">Found</a>."`, hint: hintAdmin},
		"a token":     {handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, says: "it answers 401: it wants to know who asks", hint: hintToken},
		"TLS":         {handle: func(http.ResponseWriter, *http.Request) {}, tls: true, says: "it does not speak plain HTTP", hint: hintTLS},
		"text":        {handle: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\x1b[2Jhello\xff") }, says: `it answers with no JSON: "\x1b[2Jhello\xff"`, hint: hintAdmin},
		"other JSON":  {handle: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status": "ok"}`) }, says: "its config_dump cannot be read", hint: hintAdmin},
		"half a dump": {handle: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(dump[:len(dump)/2]) }, says: "its config_dump cannot be read", hint: hintAdmin},
		"no end":      {handle: func(w http.ResponseWriter, _ *http.Request) { endless(w, `{"configs": [`) }, says: "its answer is longer than 64 MiB"},
		"300 MB": {handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "300000000")
			endless(w, `{"configs": [`)
		}, says: "its answer is longer than 64 MiB"},
		"hangs up":       {handle: func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, says: "it closes the connection without an answer", hint: hintTLS},
		"never the same": {handle: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, time.Now().UnixNano()) }, says: "it answers with no JSON: ", hint: hintAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(c.handle)
			s.Config.ErrorLog = nil
			if s.Config.ErrorLog = quietLog(); c.tls {
				s.StartTLS()
			} else {
				s.Start()
			}
			defer s.Close()
			l, k := asking(t, EnvoyAdmin, s.Listener.Addr().String(), Access{})
			n := uint64(5)
			if strings.Contains(c.says, "MiB") {
				n = 1
			}
			looks(t, k, n)
			k.Close()
			words, hints := l.words(), l.hints()
			if len(words) != 1 || !strings.HasPrefix(words[0], c.says) || len(hints) != 1 || hints[0] != c.hint {
				t.Errorf("it says %q, hints %q", words, hints)
			}
			if st := k.Stats(); st.Failed < n {
				t.Errorf("%+v", st)
			}
		})
	}
}

// A client that answers drop by drop is given up.
func TestSlowDrip(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	defer s.Close()
	p, err := Parse(EnvoyAdmin, s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l := &log{}
	k := &Keeper{}
	o := &Options{Append: l.Append, Said: l.said, Patience: 100 * time.Millisecond}
	newPoller(k, o, &p).look(t.Context(), time.Now())
	if words := l.words(); len(words) != 1 || words[0] != "it did not answer in full within 100ms" {
		t.Errorf("%q", words)
	}
}

// What is gone and comes back is told as it goes and comes, and all of it is handed on
// again. What says the same again is not.
func TestGoneAndBack(t *testing.T) {
	var mu sync.Mutex
	dump, gone := real(t), false
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case gone:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/config_dump":
			_, _ = w.Write(dump)
		case r.URL.Path == "/init_dump":
			fmt.Fprint(w, `{"unready_targets_dumps":[]}`)
		default:
			fmt.Fprint(w, "cluster_manager.cds.update_success: 3\ncluster_manager.cds.version_text: \"7\"\nno line\n")
		}
	}))
	defer s.Close()
	l, k := asking(t, EnvoyAdmin, "envoy="+s.Listener.Addr().String(), Access{})
	step := func(f func(), want ...string) {
		t.Helper()
		mu.Lock()
		f()
		mu.Unlock()
		looks(t, k, 2)
		if words := l.words(); strings.Join(words, ", ") != strings.Join(want, ", ") {
			t.Errorf("%q, want %q", words, want)
		}
	}
	const unavailable = `it answers 503: ""`
	step(func() {}, "whole")
	step(func() {
		dump = []byte(strings.Replace(string(dump), `"connect_timeout": "1s"`, `"connect_timeout": "6s"`, 1))
	}, "whole", "change")
	step(func() { dump = append(dump, '\n') }, "whole", "change") // other bytes that say the same
	step(func() { gone = true }, "whole", "change", unavailable)
	step(func() { gone = false }, "whole", "change", unavailable, "whole")
	step(func() { dump = []byte(strings.Replace(string(dump), `"id": "envoy"`, `"id": "other"`, 1)) }, "whole", "change", unavailable, "whole", `it is node "other", and not "envoy"`)
}

// A client that is not there yet is starting; people are told of it only if that takes
// long. The recording has it at once.
func TestStarting(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	for wait, want := range map[time.Duration]int{time.Hour: 0, time.Nanosecond: 1} {
		l := &log{}
		k := Start(Options{
			Places:   []Place{{Source: EnvoyAdmin, Network: "tcp", Address: free.Addr().String()}},
			Interval: time.Millisecond, Append: l.Append, Said: l.said, Starting: wait,
		})
		looks(t, k, 3)
		k.Close()
		if words := l.words(); len(words) != 1 || words[0] != "nobody listens there" {
			t.Errorf("%q", words)
		}
		if said := l.hints(); len(said) != want {
			t.Errorf("%d times said, want %d: %q", len(said), want, said)
		}
	}
}

// A token is shown, and what it is, is in nothing that is said. Roots that are named
// are trusted, others are not.
func TestTokenAndTLS(t *testing.T) {
	dump := real(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.URL.Path == "/config_dump" {
			_, _ = w.Write(dump)
		}
	}))
	s.Config.ErrorLog = quietLog()
	s.StartTLS()
	defer s.Close()
	dir := t.TempDir()
	token, ca := filepath.Join(dir, "token"), filepath.Join(dir, "ca.pem")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(ca, pemOf(s.Certificate()))
	addr := "https://" + s.Listener.Addr().String()
	for _, c := range []struct{ token, ca, want string }{
		{"s3cret\n", ca, "whole"},
		{"wr0ng", ca, "it answers 403: it wants to know who asks"},
		{"two words", ca, "the token in "},
		{"s3cret", "", "its certificate is not trusted: "},
		{"s3cret", token, "there is no certificate in "},
	} {
		write(token, c.token)
		l, k := asking(t, EnvoyAdmin, addr, Access{CA: c.ca, Token: token})
		looks(t, k, 1)
		k.Close()
		words := l.words()
		if len(words) != 1 || !strings.HasPrefix(words[0], c.want) || strings.Contains(words[0], "words") || strings.Contains(words[0], "s3cret") {
			t.Errorf("%q, want %q", words, c.want)
		}
	}
}

// A program without the service, and one that does not speak gRPC, say so.
func TestBadCSDS(t *testing.T) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	go func() { _ = g.Serve(at) }()
	defer g.Stop()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = quietLog()
	s.Start()
	defer s.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	for addr, want := range map[string]string{
		at.Addr().String():         "it has no client status service",
		s.Listener.Addr().String(): "it ",
		free.Addr().String():       "nobody listens there",
	} {
		l, k := asking(t, CSDS, addr, Access{})
		looks(t, k, 2)
		k.Close()
		if words := l.words(); len(words) != 1 || !strings.HasPrefix(words[0], want) {
			t.Errorf("%q, want %q", words, want)
		}
	}
}
