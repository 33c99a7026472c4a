package check

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// fullLedger has so many findings of one severity, of which the last was proved at a
// time and each before it a millisecond earlier. No two have a cause in common.
func fullLedger(l *ledger, n int, s Severity, last time.Time) {
	for i := range n {
		enterOne(l, s, "had"+strconv.Itoa(i), "c", last.Add(time.Duration(i+1-n)*time.Millisecond))
	}
}

func enterOne(l *ledger, s Severity, cause, client string, at time.Time) {
	f := &Finding{Rule: &Rule{ID: "rule"}, Severity: s, Client: client, Names: []string{cause}, At: at, Last: at, Count: 1}
	l.enter(f, causeKey("rule", client, "", cause), cause, false, false)
}

// causesOf are the names of findings that are kept, as far as they do not begin with
// the word of those that fill the ledger.
func causesOf(l *ledger) (causes []string, others int) {
	for f := range l.All() {
		if strings.HasPrefix(f.Names[0], "had") {
			others++
		} else {
			causes = append(causes, f.Names[0])
		}
	}
	return causes, others
}

// Only so many findings are kept. A new one that is graver is told nevertheless: of
// the least grave that is forgotten which was proved longest ago, and counted.
func TestFindingsHaveABound(t *testing.T) {
	l, now := newLedger(), time.Unix(1e9, 0)
	fullLedger(&l, maxFindings, Info, now)
	size(t, "findings", l.Len(), maxFindings)
	if l.take(); !l.again(causeKey("rule", "c", "", "had0"), Info, now, 7) {
		t.Error("one that is known is not counted")
	}
	for _, s := range []Severity{Info, Error, Warning, Info} {
		enterOne(&l, s, s.String(), "c", now)
	}
	var told []string
	for _, f := range l.take() {
		told = append(told, f.Names[0])
	}
	causes, others := causesOf(&l)
	if want := []string{"error", "warning"}; !slices.Equal(told, want) || !slices.Equal(causes, want) {
		t.Errorf("told are %q, and kept are %q", told, causes)
	}
	size(t, "others", others, maxFindings-2)
	size(t, "forgotten", int(l.Forgotten()), 2)
	size(t, "refused", int(l.Refused()), 2)
	for i, there := range []bool{true, false, false, true} { // the first was proved again
		if f := l.Get(causeKey("rule", "c", "", "had"+strconv.Itoa(i))); (f != nil) != there {
			t.Errorf("%d is there: %v", i, f != nil)
		}
	}
	for range maxFindingNames + 1 {
		l.repeat(&Finding{})
	}
	size(t, "repeated findings", len(l.repeated), maxFindingNames)
}

// One that is no graver is told if there is one that was not proved for long enough,
// and goes before one that is graver.
func TestStaleFindingsGiveWay(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, c := range []struct {
		age       time.Duration
		had, new  Severity
		forgotten int
	}{
		{stale, Info, Info, 1},
		{stale - 1, Info, Info, 0},
		{stale, Error, Info, 1},
		{stale - 1, Error, Warning, 0},
		{stale - 1, Error, Error, 0},
		{0, Warning, Error, 1},
	} {
		l := newLedger()
		fullLedger(&l, maxFindings, c.had, now)
		l.take()
		oldest := now.Add(time.Duration(1-maxFindings) * time.Millisecond)
		enterOne(&l, c.new, "new", "c", oldest.Add(c.age))
		size(t, fmt.Sprintf("%+v: told", c), len(l.take()), c.forgotten)
		size(t, fmt.Sprintf("%+v: forgotten", c), int(l.Forgotten()), c.forgotten)
		size(t, "findings", l.Len(), maxFindings)
	}
}

// A cause has so many clients. Those that did not have it for long give way to new
// ones, and that there are more is said.
func TestClientsOfACauseHaveABound(t *testing.T) {
	l, now := newLedger(), time.Unix(1e9, 0)
	for i := range maxClients {
		enterOne(&l, Error, "cause", strconv.Itoa(i), now.Add(time.Duration(i)))
	}
	common := l.take()[0].Common
	if l.More(common) {
		t.Error("there are no more clients")
	}
	enterOne(&l, Error, "cause", "early", now.Add(stale-1))
	size(t, "told at once", len(l.take()), 0)
	enterOne(&l, Error, "cause", "late", now.Add(stale))
	size(t, "told later", len(l.take()), 1)
	size(t, "clients", l.Len(), maxClients)
	size(t, "forgotten", int(l.Forgotten()), 1)
	size(t, "refused", int(l.Refused()), 0)
	if !l.More(common) || l.Get(causeKey("rule", "0", "", "cause")) != nil {
		t.Error("the first client is there still")
	}
}

// A new error after as many notes as there is room for is among the findings, and the
// same entries give the same findings each time.
func TestErrorsAfterManyNotes(t *testing.T) {
	var before []Finding
	for range 2 {
		x := moment(t, simple, 1, "EDS")
		x.k.ledger = newLedger()
		for i := range maxFindings + 10 {
			x.provef(proof{severity: Info, names: []string{"had" + strconv.Itoa(i)}}, "it is so")
		}
		x.k.ledger.take()
		for i := range 20 {
			x.provef(proof{severity: Error, names: []string{"new" + strconv.Itoa(i)}}, "it is so")
		}
		size(t, "told", len(x.k.ledger.take()), 20)
		all := x.k.Findings()
		if got := all[len(all)-1]; len(all) != maxFindings || got.Severity != Error || got.Names[0] != "new19" {
			t.Errorf("of %d the last is %+v", len(all), got)
		}
		if s := x.k.Summary(); s.FindingsForgotten != 20 || s.FindingsRefused != 10 {
			t.Errorf("%+v", s)
		}
		for i := range all {
			all[i].Rule = nil
		}
		if before != nil && !reflect.DeepEqual(all, before) {
			t.Error("the same again gives other findings")
		}
		before = all
	}
}

// A finding is of the stream that it is about, or else of that of its entry, if there is
// one.
func TestWhereAFindingIs(t *testing.T) {
	x := moment(t, simple, 1, "EDS")
	conn := x.stream.Conn
	e := &session.Entry{Seq: 9, Conn: 30, Stream: 40}
	for i, c := range []struct {
		stream *engine.Stream
		entry  *session.Entry
		conn   session.ConnID
		at     session.StreamID
	}{{x.stream, e, conn, 1}, {x.stream, nil, conn, 1}, {nil, e, 30, 40}, {nil, nil, 0, 0}} {
		about := *x
		about.stream, about.entry, about.sub = c.stream, c.entry, nil
		about.prove(proof{severity: Info, cause: strconv.Itoa(i), message: "x"})
		all := x.k.Findings()
		if f := all[len(all)-1]; f.Conn != c.conn || f.Stream != c.at {
			t.Errorf("%d: it is of stream %d on connection %d, want %d on %d", i, f.Stream, f.Conn, c.at, c.conn)
		}
	}
}
