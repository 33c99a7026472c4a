package stats

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
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
