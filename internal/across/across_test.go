package across

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	adsPath    = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
)

var began = time.Date(2027, 1, 15, 0, 0, 0, 0, time.UTC)

// proxy is a recording to be written: of so many clients that are pushed to, and
// reject every one of some pushes.
type proxy struct {
	dir, name string
	clients   []string
	pushes    int
	every     time.Duration // between pushes
	start     time.Time
	rejects   map[int]string // by the push, why
	segment   int64
}

func (p proxy) write(t testing.TB) (files []string) {
	t.Helper()
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	o := store.Live(true, new(session.Buffers).Put)
	o.NoTicks, o.MaxSize = true, p.segment
	if p.segment > 0 {
		carry, transform := engine.New(engine.Options{Envelopes: true, Past: 1 << 20}), o.Transform
		o.Carry = carry.Needed
		o.Transform = func(e *session.Entry) {
			transform(e)
			carry.Step(e)
		}
	}
	path := filepath.Join(p.dir, p.name+".xdsp")
	log, err := recorder.Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	at, n := p.start, uint64(0)
	add := func(e session.Entry) {
		at = at.Add(time.Millisecond)
		e.Time = at
		log.Append(e)
		if n++; p.segment > 0 && n%8 == 0 {
			for log.Stats().Entries < n {
				time.Sleep(50 * time.Microsecond)
			}
		}
	}
	said := func(c int, side session.Side, b []byte) {
		add(session.Entry{Conn: session.ConnID(c + 1), Stream: session.StreamID(c + 1), H2: 1, Side: side, Kind: session.KindMessage, Message: &session.Message{Data: session.Chunks{b}, Size: int64(len(b)), WireSize: int64(len(b))}})
	}
	for i, id := range p.clients {
		add(session.Entry{Conn: session.ConnID(i + 1), Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{Client: "10.0.0.1:4000"}})
		add(session.Entry{Conn: session.ConnID(i + 1), Stream: session.StreamID(i + 1), H2: 1, Side: session.Client, Kind: session.KindOpen, Method: adsPath})
		q := synth.Request{TypeURL: clusterURL, Node: &decode.Node{ID: id, Cluster: "web"}}
		said(i, session.Client, q.Marshal())
	}
	accepted := ""
	for push := range p.pushes {
		version := fmt.Sprint("v", push)
		for i := range p.clients {
			nonce := fmt.Sprintf("%d-%d", push, i)
			r := synth.Response{TypeURL: clusterURL, Version: version, Nonce: nonce, Resources: []synth.Resource{{TypeURL: clusterURL, Payload: "c", OwnName: true, Content: version}}}
			said(i, session.Server, r.Marshal())
			q := synth.Request{TypeURL: clusterURL, Version: version, Nonce: nonce}
			if why := p.rejects[push]; why != "" {
				q.Version, q.Error = accepted, &decode.Error{Code: 13, Message: why}
			}
			said(i, session.Client, q.Marshal())
		}
		if p.rejects[push] == "" {
			accepted = version
		}
		at = at.Add(p.every)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	older, _ := filepath.Glob(filepath.Join(p.dir, p.name+".??????.xdsp"))
	return append(older, path)
}

// opener tells what is said into told.
func opener(t testing.TB, told *[]string) *input.Opener {
	return &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdout: t.Output(), Stderr: &said{told}}}
}

type said struct{ all *[]string }

func (l *said) Write(b []byte) (int, error) {
	if l.all != nil {
		*l.all = append(*l.all, string(b))
	}
	return len(b), nil
}

func readerOf(t testing.TB, source string, told *[]string) *Reader {
	t.Helper()
	o := opener(t, told)
	all, err := o.Recordings(t.Context(), source, fleet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return New(o, all)
}

func options() check.Options {
	rules, _ := check.Select(nil, nil)
	return check.Options{Rules: rules, Timers: check.DefaultTimers()}
}

// A hundred recordings, with what is damaged, foreign, half there and empty among
// them, give the findings that each gives alone: one for each cause, with all who
// have it, whatever the order in which they were read.
func TestJudge(t *testing.T) {
	root := t.TempDir()
	long := strings.Repeat("gateway-of-the-north-", 4)[:76]
	for i := range 100 {
		p := proxy{
			dir: filepath.Join(root, "cluster=c", "date=2027-01-15", fmt.Sprintf("proxy=%s-%03d", long, i)), name: fmt.Sprintf("r-%d", i),
			clients: []string{fmt.Sprintf("web-%d-a", i), fmt.Sprintf("web-%d-b", i)}, pushes: 4, every: time.Second,
			start: began.Add(time.Duration(100-i) * time.Second), rejects: map[int]string{},
		}
		if i%10 == 3 {
			p.rejects[2] = "no such filter: wasm"
		}
		if i == 77 {
			p.rejects[1] = "another reason"
		}
		p.write(t)
	}
	bad := filepath.Join(root, "cluster=c", "date=2027-01-15", "proxy=zz")
	spoiled := proxy{dir: bad, name: "spoiled", clients: []string{"bad"}, pushes: 500, start: began, rejects: map[int]string{2: "no such filter: wasm"}, segment: 1 << 30}.write(t)[0]
	b, err := os.ReadFile(spoiled)
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.Clone(b[:len(b)/2])
	for i := len(b) / 2; i < len(b)/2+50; i++ {
		b[i] ^= 0x5A
	}
	for name, content := range map[string][]byte{"spoiled": b, "half": half, "foreign": []byte("PK\x03\x04 something else"), "empty": nil} {
		if err := os.WriteFile(filepath.Join(bad, name+".xdsp"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	r := readerOf(t, root, &told)
	report := render.NewReport()
	err = r.Judge(t.Context(), options(), report, false)
	if !Incomplete(err) {
		t.Errorf("with a recording that is damaged: %v", err)
	}
	for name, n := range map[string]int{"foreign": 1, "empty": 1, "is damaged": 1, "half of": 1} {
		if got := len(slices.DeleteFunc(slices.Clone(told), func(s string) bool { return !strings.Contains(s, name) })); got != n {
			t.Errorf("%q is told %d times, not %d: %q", name, got, n, told)
		}
	}

	// What each gives alone.
	type key struct{ rule, severity, typ, names, why string }
	keyOf := func(f *render.Finding) key {
		why := ""
		for _, s := range []string{"wasm", "another reason"} {
			if strings.Contains(f.Message, s) {
				why = s
			}
		}
		return key{f.Rule, f.Severity, f.Type, strings.Join(f.Names, ","), why}
	}
	alone, clients, proxies := map[key]int{}, map[key]map[string]bool{}, map[key]map[string]bool{}
	for _, rec := range r.All {
		single := New(opener(t, nil), []*fleet.Recording{rec})
		one := render.NewReport()
		if err := single.Judge(t.Context(), options(), one, false); err != nil && !Incomplete(err) {
			t.Fatal(err)
		}
		for i := range one.Findings {
			f := &one.Findings[i]
			k := keyOf(f)
			alone[k] += f.Count
			if clients[k] == nil {
				clients[k], proxies[k] = map[string]bool{}, map[string]bool{}
			}
			for _, c := range append(slices.Clone(f.Clients), f.Client) {
				clients[k][c] = true
			}
			proxies[k][f.Proxies[0]] = true
		}
	}
	if len(alone) < 2 {
		t.Fatalf("only %d causes", len(alone))
	}
	seen := map[key]bool{}
	for i := range report.Findings {
		f := &report.Findings[i]
		k := keyOf(f)
		if seen[k] {
			t.Errorf("%v has two findings", k)
		}
		seen[k] = true
		if f.Count != alone[k] || max(1, len(f.Clients)) != len(clients[k]) || len(f.Proxies) != len(proxies[k]) {
			t.Errorf("%v: %d times on %d clients of %d proxies, not %d on %d of %d", k, f.Count, len(f.Clients), len(f.Proxies), alone[k], len(clients[k]), len(proxies[k]))
		}
		if f.Source == "" || !strings.HasSuffix(f.Source, ".xdsp") {
			t.Errorf("%v is in %q", k, f.Source)
		}
	}
	if len(seen) != len(alone) {
		t.Errorf("%d causes, not %d", len(seen), len(alone))
	}
	wasm := slices.IndexFunc(report.Findings, func(f render.Finding) bool {
		return f.Rule == "nack-received" && strings.Contains(f.Message, "wasm")
	})
	if f := &report.Findings[wasm]; len(f.Proxies) != 11 || len(f.Clients) != 21 {
		t.Errorf("the planted fault is on %d proxies and %d clients, not on 11 and 21", len(f.Proxies), len(f.Clients))
	}

	// The same again, with one at a time.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again := render.NewReport()
	if err := readerOf(t, root, nil).Judge(t.Context(), options(), again, false); !Incomplete(err) {
		t.Error(err)
	}
	one, _ := json.Marshal(report)
	two, _ := json.Marshal(again)
	if !bytes.Equal(one, two) {
		t.Error("the report depends on how many are judged at once")
	}
	text := report.Text(render.Style{}, 80, true)
	if !strings.Contains(text, "on 11 proxies") || !strings.Contains(text, "104 recordings") {
		t.Errorf("%s", text)
	}
}

// Two hundred proxies with many segments each come in the order of time, with few
// open files and bounded text in memory.
func TestMerge(t *testing.T) {
	root := t.TempDir()
	const proxies = 200
	segments := 0
	var made [4][]string
	for i := range made {
		made[i] = proxy{
			dir: filepath.Join(root, ".tmp", fmt.Sprint(i)), name: "x", clients: []string{"web"}, pushes: 120, every: 7 * time.Second,
			start: began.Add(time.Duration(i) * 13 * time.Second), segment: 1500,
		}.write(t)
	}
	for i := range proxies {
		for n, file := range made[i%len(made)] {
			to := filepath.Join(root, "cluster=c", fmt.Sprintf("date=2027-01-%02d", 15+n/4), fmt.Sprintf("proxy=gw-%03d", i))
			if err := os.MkdirAll(to, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(file, filepath.Join(to, fmt.Sprintf("r.%06d.xdsp", n+1))); err != nil {
				t.Fatal(err)
			}
			segments++
		}
	}
	if segments < 5*proxies {
		t.Fatalf("%d segments are too few", segments)
	}
	var told []string
	r := readerOf(t, root, &told)
	if len(r.All) != proxies {
		t.Fatalf("%d recordings", len(r.All))
	}
	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("there is no /proc")
		}
		return len(all)
	}
	before, most, entries := files(), 0, 0
	var last time.Time
	seqs := map[string]uint64{}
	plan := Plan{
		Query: func() (*input.Query, error) { return input.ParseQuery("") },
		Tell: func(rec *fleet.Recording, q *input.Query) Teller {
			return func(e *session.Entry, c *check.Change, wanted bool) ([]byte, error) {
				if e == nil || !wanted || e.Carried {
					return nil, nil
				}
				return fmt.Appendf(nil, "%s %d %s", rec.Proxy, e.Seq, strings.Repeat(".", 100)), nil
			}
		},
		Write: func(l Line) error {
			var who string
			var seq uint64
			if _, err := fmt.Sscanf(string(l.Text), "%s %d", &who, &seq); err != nil {
				return err
			}
			if l.Time.Before(last) {
				return fmt.Errorf("%s comes after %s", l.Time, last)
			}
			if seq <= seqs[who] {
				return fmt.Errorf("%s: entry %d after %d", who, seq, seqs[who])
			}
			last, seqs[who] = l.Time, seq
			if entries++; entries%100 == 0 {
				most = max(most, files()-before)
			}
			return nil
		},
	}
	written, err := r.Merge(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(0)
	for _, rec := range r.All {
		src, err := opener(t, nil).OpenRecording(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		facts, err := src.Inspect()
		_ = src.Close()
		if err != nil {
			t.Fatal(err)
		}
		want += facts.Entries
	}
	if written == 0 || int(written) != entries || len(seqs) != proxies {
		t.Errorf("%d entries of %d proxies", written, len(seqs))
	}
	if uint64(entries) != uint64(proxies*(3+240)) {
		t.Errorf("%d entries, not %d", entries, proxies*(3+240))
	}
	if most > 10 {
		t.Errorf("%d files were open at once", most)
	}
	// It ends where nobody wants more.
	stop := errors.New("enough")
	plan.Write = func(Line) error { return stop }
	if _, err := r.Merge(t.Context(), plan); !errors.Is(err, stop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Merge(ctx, plan); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(told) > 0 && !strings.Contains(told[0], "clock") {
		t.Errorf("told %q", told)
	}
}

// Parked streams hold no blocks: what is in memory does not grow with what is in them.
func TestMergeMemory(t *testing.T) {
	root := t.TempDir()
	for i := range 60 {
		proxy{dir: filepath.Join(root, fmt.Sprint("gw-", i)), name: "s", clients: []string{"a", "b", "c"}, pushes: 300, every: time.Second, start: began}.write(t)
	}
	r := readerOf(t, root, nil)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, n, most := m.HeapAlloc, 0, uint64(0)
	_, err := r.Merge(t.Context(), Plan{
		Query: func() (*input.Query, error) { return input.ParseQuery("") },
		Tell: func(*fleet.Recording, *input.Query) Teller {
			return func(e *session.Entry, _ *check.Change, _ bool) ([]byte, error) { return []byte("x"), nil }
		},
		Write: func(Line) error {
			if n++; n%20_000 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc-min(m.HeapAlloc, before))
			}
			return nil
		},
	})
	if err != nil || n < 60*1800 {
		t.Fatalf("%d lines, %v", n, err)
	}
	if per := most / 60; per > 400<<10 {
		t.Errorf("%d bytes of heap for each of 60 recordings", per)
	}
}

func TestInfoAndStanding(t *testing.T) {
	root := t.TempDir()
	for i := range 5 {
		proxy{
			dir: filepath.Join(root, "cluster=c", "date=2027-01-15", fmt.Sprint("proxy=gw-", i%4)), name: fmt.Sprint("r-", i),
			clients: []string{"same", fmt.Sprint("own-", i)}, pushes: 3, start: began.Add(time.Duration(i) * time.Hour), rejects: map[int]string{i: "no"},
		}.write(t)
	}
	var told []string
	r := readerOf(t, root, &told)
	i, err := r.Info(t.Context(), false)
	if err != nil || i.Total.Recordings != 5 || i.Total.Proxies != 4 || i.Total.Entries != 5*(6+12) {
		t.Errorf("%+v, %v", i.Total, err)
	}
	if text := i.Text(); strings.Count(text, "\n") != 7 || !strings.Contains(text, "5 recordings of 4 proxies") {
		t.Error(text)
	}
	if len(told) != 4 || !strings.Contains(told[0], "clock") { // they are of 2027
		t.Errorf("told %q", told)
	}
	s, err := r.Standing(t.Context(), options())
	if err != nil || len(s.Clients) != 4+5 {
		t.Fatalf("%d clients, %v", len(s.Clients), err)
	}
	states := map[string]string{}
	for _, c := range s.Clients {
		states[c.Proxy+" "+c.Client] = c.Types[0].State
	}
	// gw-0 has two recordings: r-0, and r-4 in which nothing was rejected.
	if states["gw-0 same"] != "SYNCED" || states["gw-2 own-2"] != "NACKED" {
		t.Errorf("%v", states)
	}
	if s.Clients[0].Types[0].State != "NACKED" {
		t.Errorf("the first is %+v", s.Clients[0])
	}
}

// Results come in order, and an error ends all.
func TestInOrder(t *testing.T) {
	var running, most atomic.Int64
	next := 0
	err := inOrder(t.Context(), 200, func(_ context.Context, i int) int {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		time.Sleep(time.Duration(i%3) * 100 * time.Microsecond)
		return i
	}, func(i, result int) error {
		if i != next || result != i {
			return fmt.Errorf("%d and %d where %d is due", i, result, next)
		}
		next++
		return nil
	})
	if err != nil || next != 200 || most.Load() > int64(workers()) {
		t.Errorf("%v, %d, %d at once", err, next, most.Load())
	}
	stop := errors.New("enough")
	err = inOrder(t.Context(), 200, func(_ context.Context, i int) int { running.Add(1); defer running.Add(-1); return i }, func(i, _ int) error {
		if i == 7 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || running.Load() != 0 {
		t.Errorf("%v, %d still run", err, running.Load())
	}
}
