package compare

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// TestDiffStops: what is read for long can be given up, and lets go of its
// reader.
func TestDiffStops(t *testing.T) {
	var es []session.Entry
	es = append(es, viewtest.StreamBegins()...)
	for i := range 3 * historySlice {
		es = append(es, viewtest.MessageEntry(session.Client, viewtest.Field(3, fmt.Sprint(i))))
	}
	scr := viewtest.New(t, viewtest.Record(t, es...)).Read(t)
	v := &View{whole: make(map[int]bool)}
	scr.Push(v)
	cmd := v.history(scr, history.Selection{Client: "c", Type: "CDS", Name: "n"}, 0)
	first := cmd().(view.Reply).Msg.(historyStep)
	if first.done {
		t.Fatal("one slice reads all of it")
	}
	next := v.Handle(scr, first)
	drawn := v.Draw(scr, 80, 20)
	if got := drawn[1].PlainText(); !strings.Contains(got, "reading its versions, 33%; esc stops") {
		t.Errorf("there is no progress:\n%s", got)
	}
	_ = v.Do(scr, key.Close)
	if scr.IsOpen(v) {
		t.Fatal("escape does not leave")
	}
	second := next().(view.Reply).Msg.(historyStep)
	var msg tea.Msg
	if cmd := v.Handle(scr, second); cmd != nil {
		msg = cmd()
	}
	if msg != nil || v.run != nil {
		t.Errorf("what was given up goes on: %v", msg)
	}
	if _, err := first.run.reader.Next(scr.Log().Context); err == nil {
		t.Error("the reader is still open")
	}
}

// What a client rejected is what its NACK is about: the diff is that of the response,
// not of two requests.
func TestDiffOfANack(t *testing.T) {
	scr := viewtest.New(t, viewtest.File(filepath.Join("..", "..", "..", "check", "testdata", "sessions", "envoy-sotw-nack.xdsp"))).Read(t)
	log, nacks := scr.Log(), 0
	for i := range log.Index.Len() {
		r, _ := log.Index.Row(i)
		if r.What != index.NACK || r.Partner() == 0 {
			continue
		}
		nacks++
		nack, response := CompareSelection(t.Context(), log, view.Selection{Seq: r.Seq}, 0), CompareSelection(t.Context(), log, view.Selection{Seq: r.Partner()}, 0)
		if nack.Err != nil || response.Err != nil || len(nack.Items) == 0 || len(nack.Items) != len(response.Items) {
			t.Fatalf("entry %d has %d, %v; what it rejects, %d, has %d, %v", r.Seq, len(nack.Items), nack.Err, r.Partner(), len(response.Items), response.Err)
		}
		for i := range nack.Items {
			if a, b := &nack.Items[i], &response.Items[i]; a.Name != b.Name || a.New.Seq != b.New.Seq || a.Kind != b.Kind {
				t.Errorf("entry %d: %+v is not %+v", r.Seq, a, b)
			}
		}
	}
	if nacks == 0 {
		t.Error("there is no NACK")
	}
}
