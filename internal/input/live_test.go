package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// spoken is what two clients say, a minute apart: entries 1 to 6, and 7 to 11.
const spoken = `C> type=CDS V= N= R=[] node=gw-0
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
-- stream 2
t=+60s C> type=EDS V= N= R=[c1] node=gw-1
S< type=EDS V=1 N=a res=[c1]
`

// spokenTo appends a script to a log, and marks: entry 5 is marked, and 9 no longer.
func spokenTo(t *testing.T, log *recorder.Log) {
	t.Helper()
	s, err := script.Parse("spoken", []byte(spoken))
	if err != nil {
		t.Fatal(err)
	}
	n := uint64(0)
	for e := range s.Entries() {
		e.Seq = 0
		log.Append(e)
		n++
	}
	for _, note := range []session.Note{{Code: session.NoteMark, About: 5}, {Code: session.NoteMark, About: 9}, {Code: session.NoteUnmark, About: 9}} {
		log.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &note})
		n++
	}
	for end := time.Now().Add(time.Minute); log.Stats().Entries < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not written")
		}
	}
}

// running is a proxy whose recording can be read at an address.
func running(t *testing.T, path string) (addr string, log *recorder.Log, stop func()) {
	t.Helper()
	log, err := recorder.Create(path, store.Live(true, new(session.Buffers).Put))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	server := serve.New(serve.Config{Log: log, Pairs: []serve.Pair{{Listen: "127.0.0.1:1", Upstream: "cp:2"}}, PastForgotten: func() uint64 { return 3 }})
	socket := filepath.Join(t.TempDir(), "v.sock")
	l, err := serve.ListenUnix(socket)
	if err != nil {
		t.Fatal(err)
	}
	server.Serve(l, "")
	stop = func() { server.Close(0) }
	t.Cleanup(stop)
	return "unix:" + socket, log, stop
}

// wantedOf are the numbers of the entries that a filter takes.
func wantedOf(t *testing.T, src *Source, text string) (out []session.Seq) {
	t.Helper()
	q, err := ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.All(t.Context(), src, func(e *session.Entry, _ *check.Change, wanted bool) error {
		if wanted {
			out = append(out, e.Seq)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// A filter means the same of a file, of a running proxy and of a script: marks, times
// and what is said of a client.
func TestFiltersOfSources(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.xdsp")
	addr, log, _ := running(t, path)
	spokenTo(t, log)
	written := filepath.Join(t.TempDir(), "a.xds")
	if err := os.WriteFile(written, []byte(spoken), 0o600); err != nil {
		t.Fatal(err)
	}
	beside := notes.New(time.Time{})
	beside.Entries[3] = notes.Note{Marked: true}
	if err := notes.Write(written, beside); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter                string
		file, viewer, scripts []session.Seq
	}{
		{"marked:yes", []session.Seq{5}, []session.Seq{5}, []session.Seq{3}},
		{"client:gw-1 kind:resp", []session.Seq{11}, []session.Seq{11}, []session.Seq{11}},
		{"type:cds", []session.Seq{3, 5, 6}, []session.Seq{3, 5, 6}, []session.Seq{3, 5, 6}},
	} {
		for name, want := range map[string][]session.Seq{path: c.file, addr: c.viewer, written: c.scripts} {
			o, said := opening(t, nil)
			src, err := o.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			src.Follow(false)
			if got := wantedOf(t, src, c.filter); !slices.Equal(got, want) {
				t.Errorf("%s of %s: %v, not %v; %s", c.filter, name, got, want, said)
			}
			src.Close()
		}
	}
}

// What is said of a running proxy, and that nothing is read beyond what it had.
func TestReadViewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.xdsp")
	addr, log, stop := running(t, path)
	spokenTo(t, log)
	o, said := opening(t, nil)
	src, err := o.Open(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if src.Name != addr || src.File || src.Script || src.Viewer == nil || !src.Began().IsZero() || src.IsFar() || src.Header().Created.IsZero() {
		t.Errorf("%+v", src)
	}
	log.Append(session.Entry{Kind: session.KindTime, Side: session.Proxy}) // meanwhile
	last := session.Seq(0)
	for {
		e, err := src.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = e.Seq
	}
	if last != src.All().LastSeq || src.All().Entries == 0 || said.Len() > 0 {
		t.Errorf("the last is %d, of %d: %s", last, src.All().LastSeq, said)
	}
	for _, all := range []bool{false, true} {
		again, err := o.Open(addr)
		if err != nil {
			t.Fatal(err)
		}
		i, err := o.Info(t.Context(), again, all, check.Options{Rules: []*check.Rule{}})
		if err != nil {
			t.Fatal(err)
		}
		if !i.Live || i.Recording != path || len(i.Pairs) != 1 || i.Pairs[0].Upstream != "cp:2" || *i.PastForgotten != 3 || i.Clients == nil || *i.Clients != 2 || i.Unread || i.MoreClients {
			t.Errorf("all %t: %+v", all, i)
		}
		again.Close()
	}
	if _, err := Path(addr); err == nil || !strings.Contains(err.Error(), "is a running proxy, and a file is wanted") {
		t.Error(err)
	}
	stop()
	if _, err := o.Open(addr); err == nil || !slices.Contains(err.(*console.Failure).Hints, "nobody listens there: is the proxy running, with this --viewer?") {
		t.Error(err)
	}
}

// Without a SOURCE it is the running proxy, and others are named.
func TestOpenRunning(t *testing.T) {
	o, said := opening(t, nil)
	var paths []string
	for range 2 {
		log, err := recorder.Create(filepath.Join(t.TempDir(), "x.xdsp"), recorder.Options{NoTicks: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		l, path, err := serve.ListenLocal()
		if err != nil {
			t.Fatal(err)
		}
		server := serve.New(serve.Config{Log: log})
		server.Serve(l, "")
		t.Cleanup(func() { server.Close(0) })
		paths = append(paths, path)
		src, err := o.Open("")
		if err != nil {
			t.Fatal(err)
		}
		_ = src.Close()
		want := fmt.Sprintf("reading %s (the running proxy)\n", src.Name)
		if len(paths) == 2 {
			other := paths[0]
			if src.Name == "unix:"+other {
				other = paths[1]
			}
			want += "other proxies run, started earlier: unix:" + other + "\n"
		}
		if !slices.Contains(paths, strings.TrimPrefix(src.Name, "unix:")) || said.String() != want {
			t.Errorf("%s: %s", src.Name, said)
		}
		said.Reset()
	}
}

// That a connection is lost is said once, and that it is back.
func TestTellState(t *testing.T) {
	o, said := opening(t, nil)
	tell := o.tellState(proxy.Addr{Network: "tcp", Address: "127.0.0.1:9"})
	gone := time.Now()
	for retry := range 3 {
		tell(serve.State{Detached: gone, Retry: retry + 1, Cause: errors.New("the proxy is gone")})
	}
	if got := said.String(); got != "the proxy is gone; trying again\n" {
		t.Errorf("%q", got)
	}
	said.Reset()
	tell(serve.State{})
	if got := said.String(); !strings.HasPrefix(got, "127.0.0.1:9 is back after ") {
		t.Errorf("%q", got)
	}
}

// stepped notes which entries it was shown.
type stepped struct{ seqs []session.Seq }

func (s *stepped) Step(e *session.Entry) check.Change {
	s.seqs = append(s.seqs, e.Seq)
	return check.Change{}
}

// How clients left at the end does not count; how they left before others came does.
func TestStaying(t *testing.T) {
	for _, c := range []struct {
		kinds []session.Kind
		want  []session.Seq
	}{
		{[]session.Kind{session.KindMessage, session.KindDisconnect, session.KindTime, session.KindCancel}, []session.Seq{1, 3}},
		{[]session.Kind{session.KindTrailer, session.KindGoAway, session.KindHalfClose, session.KindConnect}, []session.Seq{1, 2, 3, 4}},
		{[]session.Kind{session.KindDisconnect, session.KindNote, session.KindOpen, session.KindDisconnect, session.KindMessage}, []session.Seq{2, 1, 3, 4, 5}},
	} {
		in := &stepped{}
		s := &Staying{Stepper: in}
		for i, k := range c.kinds {
			s.Step(&session.Entry{Seq: session.Seq(i + 1), Kind: k})
		}
		if !slices.Equal(in.seqs, c.want) {
			t.Errorf("%v: %v, not %v", c.kinds, in.seqs, c.want)
		}
	}
	in := &stepped{}
	s := &Staying{Stepper: in}
	for i := range session.Seq(maxEnds + 2) { // more are told of at once, with those that were held back
		s.Step(&session.Entry{Seq: i + 1, Kind: session.KindDisconnect})
	}
	if n := len(in.seqs); n != maxEnds+1 || in.seqs[n-1] != maxEnds+1 {
		t.Errorf("%d were told of", n)
	}
}

// Where something began at a time is found in a file, and a pipe has to be read.
func TestFind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.xdsp")
	log, err := recorder.Create(path, recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) time.Time { return time.Unix(1_800_000_000+int64(i), 0) }
	for i := range 5 {
		log.Append(session.Entry{Time: at(10 * i), Kind: session.KindConnect, Conn: session.ConnID(i + 1)})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := testOpener(t).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for after, want := range map[int]session.Seq{-5: 1, 0: 1, 1: 2, 10: 2, 35: 5, 40: 5, 41: 6} {
		if seq, there, err := src.find(t.Context(), at(after)); err != nil || seq != want || there != (want < 6) {
			t.Errorf("%d s: %d, %t, %v", after, seq, there, err)
		}
	}
	if e, err := src.Next(t.Context()); err != nil || e.Seq != 1 {
		t.Errorf("it goes on with %d, %v", e.Seq, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := opening(t, strings.NewReader(string(b)))
	pipe, err := o.Open("-")
	if err != nil {
		t.Fatal(err)
	}
	if seq, there, err := pipe.find(t.Context(), at(35)); err != nil || seq != 1 || there {
		t.Errorf("in a pipe: %d, %t, %v", seq, there, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := src.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Clients are known by the headers of blocks, and so is that there may be more.
func TestClientsByHeaders(t *testing.T) {
	src, err := testOpener(t).Open("../../check/testdata/sessions/demo.xdsp")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	met := map[string]bool{}
	more, err := src.Clients(t.Context(), func(id string) { met[id] = true })
	if err != nil || more || len(met) == 0 {
		t.Errorf("%v, %t, %v", met, more, err)
	}
	i, err := testOpener(t).Info(t.Context(), src, true, check.Options{Rules: []*check.Rule{}})
	if err != nil || i.Clients == nil {
		t.Errorf("%+v, %v", i, err)
	}
}

// Several recordings are named, but not too many.
func TestSeveral(t *testing.T) {
	for n, want := range map[int]int{2: 2, 3: 3, 4: 4, 9: 4} {
		var all []*fleet.Recording
		for i := range n {
			all = append(all, &fleet.Recording{Source: fmt.Sprintf("d/%d.xdsp", i)})
		}
		f := Several("d", all).(*console.Failure)
		if len(f.Hints) != want || f.Hints[0] != "name one: d/0.xdsp" || f.Code != console.ExitUsage {
			t.Errorf("%d: %+v", n, f)
		}
		if last := f.Hints[len(f.Hints)-1]; n > 3 && last != fmt.Sprintf("and %d more: xdsproxy info d lists them", n-3) {
			t.Errorf("%d: %s", n, last)
		}
	}
}

func TestIsMany(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.xdsp")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		dir: true, file: false, filepath.Join(dir, "none"): false, "s3://bucket": true, "s3://bucket/": true, "s3://bucket/a": false, "s3://bucket/a/": true,
		"file://" + dir: true, "file://" + file: false, "file://" + dir + "/none": false, "": false,
	} {
		if IsMany(name) != want {
			t.Errorf("%s stands for several: %t", name, !want)
		}
	}
}

// Of a recording in a directory of segments only the segment is read that has what is
// wanted, if one has it all; and all of it can be had again.
func TestAim(t *testing.T) {
	dir := t.TempDir()
	busy(t, filepath.Join(dir, "one.xdsp"), 3, 120, 400, 60_000)
	o := testOpener(t)
	span := func(first, last session.Seq) []filter.Span { return []filter.Span{{First: first, Last: last}} }
	src, err := o.Open("file://" + dir + "/one.xdsp")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	end := src.All().LastSeq
	for _, c := range []struct {
		spans []filter.Span
		want  bool
	}{
		{nil, false},
		{span(5, filter.NoLimit), false},
		{span(1, end), false},
		{span(2, 2), true},
		{span(end, end), true},
		{span(100, 100+maxAim+1), false},
		{span(end-1, end), true},
		{append(span(2, 2), span(4, 5)...), true},
	} {
		narrowed, err := src.Aim(c.spans)
		if err != nil || narrowed != c.want {
			t.Errorf("%v: %t, %v", c.spans, narrowed, err)
		}
		if err := src.Whole(); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, src); n < int(end) {
		t.Errorf("%d entries of %d are there again", n, end)
	}
	if r, err := src.Again(); err != nil || r.Close() != nil || !src.IsFar() || !src.Began().IsZero() {
		t.Errorf("%v", err)
	}
	requests, bytes := src.Fetched()
	if requests == 0 || bytes == 0 {
		t.Errorf("%d requests, %d bytes", requests, bytes)
	}
	near, err := o.Open(demo)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	if narrowed, err := near.Aim(span(2, 2)); narrowed || err != nil || near.Whole() != nil || near.IsFar() {
		t.Errorf("a file: %t, %v", narrowed, err)
	}
	if requests, bytes := near.Fetched(); requests != 0 || bytes != 0 {
		t.Errorf("%d requests, %d bytes for a file", requests, bytes)
	}
}
