package stats

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestFrames: what is counted of a session, and the biggest messages.
func TestFrames(t *testing.T) {
	for _, name := range []string{"demo"} {
		scr := viewtest.Session(t, root, name)
		v := New()
		v.Measure = func() uint64 { return 64 << 20 }
		got := scr.Play(v, 120, 40, key.Down, key.Down, key.Up, key.Open, key.Only, key.Copy, key.Last, key.First)
		got += scr.Play(v, 80, 24, key.PageDown)
		got += scr.Play(v, 40, 12)
		got += scr.Widths(New())
		golden.Is(t, filepath.Join("testdata", name+".txt"), got)
	}
}

// TestTour: what is counted of conversations with all kinds of entries.
func TestTour(t *testing.T) {
	for _, name := range []string{"aggregated", "delta"} {
		scr := viewtest.Told(t, root, name)
		v := New()
		v.Measure = func() uint64 { return 64 << 20 }
		got := scr.Tour(v)
		for h := 1; h < 30; h += 3 {
			got += scr.Frame(v, 78, h) + scr.Frame(v, 80, h)
		}
		golden.Is(t, filepath.Join("testdata", "tour-"+name+".txt"), got)
	}
}

// A log in which nothing has passed yet is counted as well.
func TestNothing(t *testing.T) {
	scr := viewtest.New(t, viewtest.Record(t, viewtest.StreamBegins()...))
	v := New()
	v.Measure = func() uint64 { return 64 << 20 }
	got := v.Where(scr) + "\n"
	scr.Read(t)
	got += scr.Play(v, 100, 30, key.Down, key.Open, key.Only, key.Copy)
	golden.Is(t, filepath.Join("testdata", "nothing.txt"), got)
}

// While a proxy runs it is said how its recorder does, and what is counted anew.
func TestRecorder(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	_, last := scr.Log().Index.Extent()
	now := recorder.Stats{Queued: 3 << 20, Bytes: 5 << 20, Last: last + 7}
	scr.Log().Proxy = &source.Proxy{Stats: func() recorder.Stats { return now }}
	v := New()
	v.Measure = func() uint64 { return 64 << 20 }
	var got string
	show := func() {
		v.known = nil // as after a while
		scr.Run(v.Tick(scr))
		for _, l := range v.recorder(scr) {
			got += l.PlainText() + "\n"
		}
	}
	show()
	now.Last, now.Lost, now.Losses, now.Failing = last, 12000, 2, true
	show()
	scr.Log().Proxy.Archive = func() source.Archived { return source.Archived{Done: 1} }
	show()
	if v.Tick(scr) != nil {
		t.Error("it counts again at once")
	}
	scr.Log().Proxy = nil
	v.known = nil
	scr.Run(v.Tick(scr))
	v.Past = engine.Memory{Forgotten: 1, Past: 1 << 20, Budget: 2 << 20}
	for _, end := range []session.Seq{0, last, last + 1200} {
		scr.Log().Last = end
		for _, l := range v.recorder(scr) {
			got += l.PlainText() + "\n"
		}
	}
	golden.Is(t, filepath.Join("testdata", "recorder.txt"), got)
}

// What is counted of a day: many types, clients and messages, answers that take from a millisecond to hours, and
// seconds in which more passes than in others, in rooms of every height.
func TestBusy(t *testing.T) {
	var b strings.Builder
	for i := range 26 {
		fmt.Fprintf(&b, "-- stream %d\nC> type=CDS V= N= R=[] node=client-%02d\n", i+1, i)
		for j := range 1 + i%4 {
			fmt.Fprintf(&b, "S< type=CDS V=%d N=%d-%d res=[c] size=%dKiB\n", j, i, j, 1+i*j)
			fmt.Fprintf(&b, "t=+%dms C> type=CDS V=%d N=%d-%d R=[]\n", 1<<i, j, i, j)
		}
	}
	for i, typ := range []string{"LDS", "RDS", "EDS", "SDS", "SRDS", "RTDS", "ECDS", "type.googleapis.com/long.name.of.a.Type", "VHDS"} {
		fmt.Fprintf(&b, "C> type=%s V= N= R=[x]\nS< type=%s V=1 N=%d res=[x]\nt=+%dms C> type=%s V= N=%d R=[x] err=no x%d\n", typ, typ, i, 3*i, typ, i, 1+i)
	}
	for i := range 14 {
		fmt.Fprintf(&b, "t=+7s C> type=EDS V= N= R=[x] x%d\n", 1+i*i)
	}
	scr := viewtest.Script(t, b.String())
	v := New()
	v.Measure = func() uint64 { return 64 << 20 }
	got := ""
	for _, h := range []int{24, 29, 30, 41, 42, 43, 44, 45, 46, 47, 48, 52, 60, 90} {
		got += scr.Frame(v, 100, h)
	}
	for _, w := range []int{79, 80, 99, 119, 120, 200} {
		got += scr.Frame(v, w, 30) + scr.Frame(v, w, 60)
	}
	scr.Frame(v, 100, 40)
	for y := range 40 {
		for _, x := range []int{0, 48, 49, 50} {
			if cmd := v.Click(scr, x, y, true); cmd != nil {
				scr.Run(cmd)
			}
			got += fmt.Sprintf("click %d %d: %+v %s\n", x, y, v.Selected(scr), scr.Said)
			scr.Said = nil
		}
	}
	golden.Is(t, filepath.Join("testdata", "busy.txt"), got)
}

// What was uploaded is looked at again after a while, though nothing passes.
func TestTicks(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	v := New()
	now := scr.Now()
	scr.Run(v.Tick(scr))
	for _, test := range []struct {
		before  time.Duration
		archive bool
		moved   bool
		asking  bool
		again   bool
	}{
		{before: time.Hour},
		{before: uploads - 1, archive: true},
		{before: uploads, archive: true, again: true},
		{before: view.Judgement - 1, moved: true},
		{before: view.Judgement, moved: true, again: true},
		{before: time.Hour, moved: true, asking: true},
	} {
		of := v.of
		v.asked, v.archive, v.asking = now.Add(-test.before), nil, test.asking
		if test.archive {
			v.archive = &source.Archived{}
		}
		if test.moved {
			v.of--
		}
		if again := v.Tick(scr) != nil; again != test.again {
			t.Errorf("%+v: it counts again: %v", test, again)
		}
		v.of = of
	}
	if memoryInUse() < 1<<20 {
		t.Errorf("the process has %d bytes", memoryInUse())
	}
}
