package menu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/clients"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestCopyFrames: an entry in each form that is offered for it.
func TestCopyFrames(t *testing.T) {
	got := ""
	for _, name := range []string{"envoy-sotw-nack", "grpc-go-nack"} {
		scr := viewtest.Session(t, root, name)
		for _, seq := range []session.Seq{2, 3, 4, 5, 9} {
			r, ok := scr.Log().Index.BySeq(seq)
			if !ok { // it has no line
				continue
			}
			open := func() view.View {
				v := NewCopy(scr.Log().Name, &r, fmt.Sprint("row of ", seq), clients.New())
				scr.Push(v)
				return v
			}
			v := open()
			got += scr.Play(v, 80, 14, key.Up, key.Open, key.Down, key.Copy, key.Down, key.Open, key.Down, key.Open, key.Down, key.Open, key.Down, key.Open, key.Down, key.Last, key.First)
			got += scr.Play(v, 60, 4, key.Down, key.Close)
			if scr.IsOpen(v) {
				t.Error("it does not close")
			}
			v = open()
			scr.Frame(v, 80, 14)
			for y := range 15 {
				for _, twice := range []bool{false, true} {
					scr.Run(v.Click(scr, 0, y, twice))
					got += fmt.Sprintf("== click %d %t: %d %q\n", y, twice, v.(*copyMenu).at, scr.Said)
					scr.Said = nil
				}
			}
		}
	}
	golden.Is(t, "testdata/copy.txt", got)
}

// TestColumnFrames: columns are hidden, shown, widened and sorted by, with the list above.
func TestColumnFrames(t *testing.T) {
	scr := viewtest.Session(t, root, "demo")
	under := clients.New()
	got := scr.Frame(under, 80, 20)
	v := NewColumns(under)
	scr.Push(v)
	got += scr.Play(v, 80, 24, key.Toggle, key.Down, key.Toggle, key.Wider, key.Narrower, key.Sort, key.Toggle, key.Down, key.Narrower, key.Narrower, key.Wider, key.Open, key.Down, key.Sort, key.Down, key.Toggle, key.Last, key.Toggle, key.Sort, key.Unfilter, key.First)
	got += scr.Play(v, 40, 7, key.Last, key.Toggle)
	got += scr.Play(v, 40, 2)
	scr.Frame(v, 80, 24)
	for y := 10; y < 24; y++ {
		scr.Run(v.Click(scr, 0, y, y%2 == 0))
		got += fmt.Sprintf("== click %d: %d\n", y, v.(*columnMenu).win.At)
	}
	got += scr.Play(v, 80, 12, key.Columns)
	if scr.IsOpen(v) {
		t.Error("it does not close")
	}
	golden.Is(t, "testdata/columns.txt", got)
}

// A click means the line that is there, however far the list was moved.
func TestClickInAMovedList(t *testing.T) {
	scr := viewtest.Session(t, root, "demo")
	v := NewColumns(clients.New()).(*columnMenu)
	scr.Push(v)
	scr.Frame(v, 80, 12)
	scr.Play(v, 80, 12, key.Last)
	first := v.win.Top
	if first == 0 {
		t.Fatal("the list was not moved")
	}
	for line := range 3 {
		if scr.Run(v.Click(scr, 0, v.top+line, false)); v.win.At != first+line {
			t.Errorf("line %d is column %d, not %d", line, v.win.At, first+line)
		}
	}
}

// TestExportFrames: what can be exported from a selection, in which forms, and what is asked
// of the program for it.
func TestExportFrames(t *testing.T) {
	file, err := filepath.Abs(filepath.Join(root, "check", "testdata", "sessions", "envoy-sotw-nack.xdsp"))
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, taken := range []string{"xdsproxy-all.zip", "xdsproxy-all.xdsp", "xdsproxy-all-2.xdsp", "xdsproxy-client.csv"} {
		if err := os.WriteFile(taken, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scr := viewtest.New(t, viewtest.File(file)).Read(t)
	got := ""
	var fails error
	scr.Log().Export = func(_ context.Context, q source.ExportRequest) (string, error) {
		private := q.Private != nil
		q.Private = nil
		scr.Say("export %+v, private: %t", q, private)
		return "first line\nsecond line\n", fails
	}
	for _, seq := range []session.Seq{3, 7} {
		scr.Log().Index.Annotate(&session.Note{Code: session.NoteMark, About: seq})
	}
	for _, at := range []view.Selection{
		{},
		{Seq: 5},
		{Seq: 1},
		{Client: `a "name"`},
		{Client: "conn 3"},
		{Seq: 9, Client: "c", Rule: "nack", Proof: []session.Seq{4, 5}},
	} {
		for _, filter := range []string{"", "kind:nack"} {
			v := NewExport(scr.Log(), at, filter).(*Exporter)
			scr.Push(v)
			got += scr.Play(v, 90, 12, key.Open, key.NextPane, key.Down, key.Down, key.Open, key.NextPane, key.Open, key.PrevPane, key.PrevPane, key.Open, key.Up, key.Up, key.Up, key.Up, key.Open)
			scr.Run(v.Write(scr, "-"))
			scr.Run(v.Write(scr, ""))
			scr.Run(v.Write(scr, "./x/../y.csv"))
			got += scr.Frame(v, 90, 12)
			fails = os.ErrPermission
			scr.Run(v.Write(scr, "z"))
			got += scr.Frame(v, 90, 3)
			fails = nil
			if scr.IsOpen(v) {
				t.Error("it does not close")
			}
		}
	}
	scr.Aliases().On = true
	v := NewExport(scr.Log(), view.Selection{Client: "envoy-1"}, "").(*Exporter)
	scr.Push(v)
	got += scr.Play(v, 90, 12, key.Open, key.Down, key.Open, key.Down, key.Open, key.NextPane)
	for y := range 12 {
		scr.Run(v.Click(scr, 0, y, y%2 == 0))
		got += fmt.Sprintf("== click %d: %d %q\n", y, v.Win.At, scr.Said)
		scr.Said = nil
	}
	scr.Run(v.Write(scr, "private"))
	got += scr.Frame(v, 90, 3)
	t.Chdir(home)
	golden.Is(t, "testdata/export.txt", got)
}
