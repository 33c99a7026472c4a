package held

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/session"
)

// answerOf is what a client says that holds something, in the words of a script.
func answerOf(t *testing.T, holds string) *answer {
	t.Helper()
	s, err := script.Parse("held", []byte("-- held node=n1 "+holds+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		a, err := fromStatus(e.Message.Data.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	return nil
}

// TestHandedOn: which entries come of what a client says, time after time.
func TestHandedOn(t *testing.T) {
	var out []string
	o := &Options{
		Starting: time.Hour,
		Append: func(e session.Entry) session.Seq {
			switch {
			case e.Held.Failed != "":
				out = append(out, "failed "+e.Held.Failed)
			case e.Held.Whole:
				out = append(out, "whole")
			default:
				out = append(out, "change")
			}
			if e.Held.Node != "n1" || e.Held.Source != string(CSDS) || e.Held.Address != "127.0.0.1:5" || (e.Message == nil) != (e.Held.Failed != "") {
				t.Errorf("%+v of %+v", e, e.Held)
			}
			if m := e.Message; m != nil {
				a, err := fromStatus(m.Data.Bytes())
				if err != nil || m.Size != m.WireSize || m.Size != int64(len(m.Data.Bytes())) {
					t.Errorf("%+v, %v", m, err)
				}
				out[len(out)-1] += fmt.Sprintf(" %d", len(a.items))
			}
			return 0
		},
		Said: func(n *News) { out = append(out, strings.TrimSpace(fmt.Sprint("said ", n.Fault, n.Notes))) },
	}
	place := &Place{Source: CSDS, Network: "tcp", Address: "127.0.0.1:5", Node: "n1"}
	p := newPoller(&Keeper{}, o, place)
	p.began = time.Now()
	one, two := "CDS/active=[a#1]", "CDS/active=[a#1] CDS/warming=[b]"
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	noted := answerOf(t, one)
	noted.notes = []string{"x"}
	hand := func(a *answer) func() { return func() { p.hand(a, time.Now(), false) } }
	fail := func(kind string) func() { return func() { p.fail(&fault{kind: kind, text: kind}) } }
	confirm := func(d time.Duration) func() {
		return func() {
			p.handed = ago(d)
			p.confirm(time.Now())
		}
	}
	for i, c := range []struct {
		do   func()
		want string
	}{
		{hand(answerOf(t, one)), "said []; whole 1"},
		{hand(answerOf(t, one)), ""},
		{confirm(4 * time.Second), ""},
		{confirm(5 * time.Second), "change 0"},
		{confirm(39 * time.Second), ""},
		{confirm(40 * time.Second), "change 0"},
		{confirm(4 * time.Minute), ""},
		{confirm(5 * time.Minute), "change 0"},
		{confirm(time.Hour), ""},
		{hand(answerOf(t, two)), "change 1"},
		{confirm(5 * time.Second), "change 0"},
		{func() { p.whole = ago(wholeEvery - time.Minute); p.hand(answerOf(t, one), time.Now(), false) }, "change 1"},
		{func() { p.whole = ago(wholeEvery); p.hand(answerOf(t, two), time.Now(), false) }, "whole 2"},
		{func() { p.whole = ago(wholeEvery); p.hand(answerOf(t, two), time.Now(), false) }, ""},
		{hand(noted), "said [x]; whole 1"},
		{hand(noted), ""},
		{fail("nobody"), "said nobody[]; failed nobody"}, // it had answered before
		{fail("nobody"), ""},
		{fail("slow"), "said slow[]; failed slow"},
		{func() { p.causes = nil; p.hand(answerOf(t, one), time.Now(), false) }, "said []; whole 1"},
		{func() { p.whole = time.Time{}; p.fail(&fault{kind: "nobody", text: "nobody"}) }, "failed nobody"}, // it may be starting
		{fail("nobody"), ""},
		{func() { p.began = ago(2 * time.Hour); p.fail(&fault{kind: "nobody", text: "nobody"}) }, "said nobody[]"},
		{fail("nobody"), ""},
		{func() { p.causes = nil; p.fail(&fault{kind: "nobody", text: "nobody"}) }, "said nobody[]; failed nobody"},
		{func() { p.causes = make([]string, maxCauses-1); p.fail(&fault{kind: "last", text: "last"}) }, "said last[]; failed last"},
		{fail("one more"), ""},
		{hand(answerOf(t, two)), "said []; whole 2"},
		{func() { p.hand(answerOf(t, two), time.Now(), true) }, "whole 2"}, // some of it may have been lost
	} {
		out = nil
		c.do()
		if got := strings.Join(out, "; "); got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
	for holds, settled := range map[string]bool{one: true, two: false, "EDS/awaited=[a]": false, "CDS/static=[a]": true} {
		if answerOf(t, holds).settled() != settled {
			t.Errorf("%s is settled: %v", holds, !settled)
		}
	}
	for _, c := range []struct{ meant, is, node, fault string }{
		{"n1", "n1", "n1", ""},
		{"", "n1", "n1", ""},
		{"n2", "n1", "", `it is node "n1", and not "n2"`},
		{"n2", "", "n2", ""},
		{"", "", "", ""},
	} {
		p := newPoller(&Keeper{}, o, &Place{Source: CSDS, Node: c.meant})
		a := &answer{id: c.is}
		err := p.check(a)
		if c.fault != "" {
			if err == nil || err.Error() != c.fault {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil || a.id != c.node || *p.node.Load() != c.node || (a.node != nil) != (c.is == "" && c.meant != "") {
			t.Errorf("%+v: %v, %q, %q", c, err, a.id, a.node)
		}
	}
}

// When the log has lost entries, and loses no more, a client's whole answer is due again.
func TestMissed(t *testing.T) {
	lost := uint64(3)
	p := newPoller(&Keeper{}, &Options{
		Append: func(session.Entry) session.Seq { return 0 }, Said: func(*News) {}, Log: func() (uint64, uint64) { return lost, 0 },
	}, &Place{Source: CSDS})
	for i, c := range []struct {
		lost   uint64
		missed bool
		hand   bool
	}{
		{lost: 3, hand: true}, // before the first answer
		{lost: 3},
		{lost: 4}, // it may lose more
		{lost: 9},
		{lost: 9, missed: true},
		{lost: 9, missed: true, hand: true},
		{lost: 9},
		{lost: 10},
		{lost: 10, missed: true, hand: true},
		{lost: 10},
	} {
		lost = c.lost
		missed := p.missed()
		if missed != c.missed {
			t.Errorf("%d: missed is %v", i, missed)
		}
		if c.hand {
			p.hand(answerOf(t, "CDS/active=[a#1]"), time.Now(), missed)
		}
	}
	p.o.Log = nil
	if p.missed() {
		t.Error("a log that loses nothing has lost something")
	}
}

// Where another segment has begun, the whole answer comes again: not at once, for
// segments may be short, and not for what changes nothing in the log.
func TestElsewhere(t *testing.T) {
	segment, said := uint64(0), []bool(nil)
	p := newPoller(&Keeper{}, &Options{
		Append: func(e session.Entry) session.Seq { said = append(said, e.Held.Whole); return 0 },
		Said:   func(*News) {}, Log: func() (uint64, uint64) { return 0, segment },
	}, &Place{Source: CSDS})
	for i, c := range []struct {
		segment uint64
		passed  time.Duration // since the whole answer before
		whole   bool
	}{
		{whole: true}, // the first answer
		{passed: elsewhereEvery},
		{segment: 1, passed: elsewhereEvery - time.Minute},
		{segment: 4, passed: elsewhereEvery, whole: true},
		{segment: 4, passed: 2 * elsewhereEvery},
		{segment: 5, passed: time.Minute},
		{segment: 5, passed: elsewhereEvery, whole: true},
	} {
		segment, said = c.segment, nil
		if i > 0 {
			p.whole = time.Now().Add(-c.passed)
		}
		anew := p.missed() || p.elsewhere(time.Now())
		p.hand(answerOf(t, "CDS/active=[a#1]"), time.Now(), anew)
		if got := slices.Contains(said, true); got != c.whole || anew != (c.whole && i > 0) {
			t.Errorf("%d: whole is %v, anew %v", i, got, anew)
		}
	}
}
