package timeline

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// run does what comes of a key.
func run(scr view.Screen, v *View, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			run(scr, v, c)
		}
	case view.Reply:
		run(scr, v, msg.To.Handle(scr, msg.Msg))
	}
}

const loopRounds = 10_000

// loop is a client that rejects the same again and again, beside one that does not.
func loop(t *testing.T) []session.Entry {
	t.Helper()
	var b strings.Builder
	b.WriteString("C> type=LDS V= N= R=[] node=gw-0\n")
	for i := range loopRounds {
		fmt.Fprintf(&b, "S< type=LDS V=88 N=%d res=[bad]\nC> type=LDS V=87 N=%d R=[] err=\"duplicate address\" code=13\n", i, i)
		if i == 500 {
			b.WriteString("C> type=EDS V= N= R=[e]\nS< type=EDS V=1 N=x res=[e]\nC> type=EDS V=1 N=x R=[e]\n")
		}
	}
	s, err := script.Parse("loop.xds", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	var all []session.Entry
	for e := range s.Entries() {
		all = append(all, e)
	}
	return all
}

// listed are the entries in the list, from its first to its last.
func listed(scr view.Screen, v *View) []session.Seq {
	var out []session.Seq
	for i, r := range v.rows(scr, 0, 1<<20) {
		if at := v.position(scr, r.Seq); at != i {
			panic(fmt.Sprintf("entry %d is at %d, and found at %d", r.Seq, i, at))
		}
		out = append(out, r.Seq)
	}
	return out
}

// Folded, 10,000 rounds are a few lines, one of which counts; unfolded, nothing is
// missing.
func TestFoldedLoop(t *testing.T) {
	scr := viewtest.New(t, viewtest.Record(t, loop(t)...)).Read(t)
	v := New(false)
	v.Settle(scr)
	short := listed(scr, v)
	n := scr.Log().Index.Len()
	if len(short) > 20 || n < 2*loopRounds || v.total(scr) != len(short) {
		t.Fatalf("%d of %d entries are listed, total %d", len(short), n, v.total(scr))
	}
	var head session.Seq
	var rounds uint64
	for _, seq := range short {
		if x, is := scr.Log().Index.Again(seq); is {
			head, rounds = seq, x
		}
	}
	if rounds != loopRounds-1 {
		t.Errorf("it counts %d", rounds)
	}
	frame := ""
	for _, l := range v.Draw(scr, 80, 24) {
		frame += l.PlainText() + "\n"
	}
	if !strings.Contains(frame, "NACK x10k") {
		t.Errorf("it does not say how often:\n%s", frame)
	}
	v.At = head
	v.Settle(scr)
	about := v.About(scr)
	if text := about.PlainText(); !strings.Contains(text, " times again, space unfolds") {
		t.Errorf("about it: %s", text)
	}
	for _, step := range []struct {
		a    key.Action
		want int
	}{{key.Toggle, n}, {key.Right, n}, {key.Left, len(short)}, {key.Left, len(short)}, {key.Right, n}, {key.Toggle, len(short)}} {
		run(scr, v, v.Do(scr, step.a))
		if got := listed(scr, v); len(got) != step.want || v.At != head {
			t.Errorf("after %s %d entries are listed, and %d is selected", step.a, len(got), v.At)
		}
	}
	scr.Log().NoFold = true
	plain := New(false)
	plain.Settle(scr)
	if got := len(listed(scr, plain)); got != n {
		t.Errorf("without folding %d of %d are listed", got, n)
	}
}

// Going to an entry that is folded unfolds it; what another view selects shows
// where it is folded; and a filter that takes none of what it is folded under lists
// it.
func TestFoldedEntries(t *testing.T) {
	entries := loop(t)
	scr := viewtest.New(t, viewtest.Record(t, entries...)).Read(t)
	v := New(false)
	v.Settle(scr)
	n := scr.Log().Index.Len()
	short := len(listed(scr, v))
	v.Follows(scr, 15_001)
	if _, is := scr.Log().Index.Again(v.At); !is || len(listed(scr, v)) != short {
		t.Errorf("another view selects %d", v.At)
	}
	run(scr, v, v.GoTo(scr, 15_001))
	if r, ok := v.row(scr); !ok || r.Seq != 15_001 || len(listed(scr, v)) != n {
		t.Errorf("it goes to %d", r.Seq)
	}
	run(scr, v, v.Do(scr, key.Left)) // from one of many to all
	if got := len(listed(scr, v)); got != short {
		t.Errorf("folded again, %d are listed", got)
	}
	for text, want := range map[string]int{"kind:nack": 3, "type:eds": 3, "seq:15000..15009": 10} {
		cmd, err := v.Ask(scr, text)
		if err != nil {
			t.Fatal(err)
		}
		run(scr, v, cmd)
		run(scr, v, v.Tick(scr))
		got := listed(scr, v)
		if len(got) == 0 || len(got) > want && text == "kind:nack" || text != "kind:nack" && len(got) != want {
			t.Errorf("%s lists %v", text, got)
		}
	}
	run(scr, v, v.GoTo(scr, 15_101)) // the filter hides it, and it is folded
	if r, ok := v.row(scr); !ok || r.Seq != 15_101 {
		t.Errorf("it goes to %d", r.Seq)
	}
}

// Where a filter names entries, nothing is folded, and no row says that it were.
func TestNamedEntriesStandForThemselves(t *testing.T) {
	scr := viewtest.New(t, viewtest.File(filepath.Join("..", "..", "..", "check", "testdata", "sessions", "demo.xdsp"))).Read(t)
	for text, folded := range map[string]bool{"seq:46,48,53": false, "kind:nack": true} {
		v := New(false)
		v.Settle(scr)
		cmd, err := v.Ask(scr, text)
		if err != nil {
			t.Fatal(err)
		}
		run(scr, v, cmd)
		run(scr, v, v.Tick(scr))
		run(scr, v, v.GoTo(scr, 48))
		said := v.About(scr)
		frame := said.PlainText() + "\n"
		for _, l := range v.Draw(scr, 80, 24) {
			frame += l.PlainText() + "\n"
		}
		if strings.Contains(frame, "NACK x2") != folded || strings.Contains(frame, "space unfolds") != folded {
			t.Errorf("%s:\n%s", text, frame)
		}
		run(scr, v, v.Do(scr, key.Toggle))
		if v.folds.open[48] != folded {
			t.Errorf("%s: space has unfolded 48: %v", text, v.folds.open[48])
		}
	}
}

// Of real polls but what they ask and bring has lines.
func TestFoldedPolls(t *testing.T) {
	scr := viewtest.New(t, viewtest.File(filepath.Join("..", "..", "..", "check", "testdata", "sessions", "rest-in-full.xdsp"))).Read(t)
	v := New(false)
	v.Settle(scr)
	for _, seq := range listed(scr, v) {
		r, _ := scr.Log().Index.BySeq(seq)
		if r.Kind != session.KindMessage && r.Kind != session.KindConnect && r.Kind != session.KindDisconnect {
			t.Errorf("entry %d, a %s, is listed", seq, r.Kind)
		}
	}
	if got, n := len(listed(scr, v)), scr.Log().Index.Len(); got == 0 || got > n/5 {
		t.Errorf("%d of %d are listed", got, n)
	}
}
