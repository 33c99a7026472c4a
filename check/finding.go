package check

import (
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check/kept"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// Finding is what a rule has proved. What has one cause is one Finding with a
// count: the same rule, client, type and names. Fold makes one of what several
// clients have in common.
type Finding struct {
	Rule     *Rule
	Severity Severity // the highest so far
	Fault    Fault
	Client   string // node id, "" if the client never gave one
	// Cause is a number that findings of other clients have, too, if their cause
	// is the same: see Fold. 0 stands for a cause that nobody has numbered.
	Cause int
	// Common is equal where Cause is, and in what other Checkers have found, too.
	Common string
	// Clients are all that it was proved on, Client first, if Fold has found
	// several; MoreClients says that these are not all.
	Clients     []string
	MoreClients bool
	Conn        session.ConnID
	Stream      session.StreamID
	Type        string   // short type, "" if it is about no type
	Names       []string // of the resources concerned, at most maxFindingNames; longer ones than there are in earnest are cut
	// Sources are the objects of a control plane that these were made of when it
	// was first proved; MoreSources says that there are more.
	Sources     []origin.Source
	MoreSources bool
	// Seqs are the entries involved when it was first proved, the one that
	// proves it last; for a rule that waited, the one that it waited from.
	Seqs    []session.Seq
	At      time.Time // when it was first proved
	Last    time.Time // when it was last proved
	LastSeq session.Seq
	Count   int
	Message string // one sentence with the values of the first time
	same    string // what clients of one cause have in common; "": the names
	// Told says that a Step has given it before, with the severity Was: it is
	// graver now, or better known.
	Told bool
	Was  Severity
}

const (
	maxFindingNames = 32
	// maxFindings bounds the findings that are told apart. For more, those of the
	// lowest severity that were proved longest ago are forgotten.
	maxFindings = 10_000
	// stale is how long ago a finding was proved that gives way to one that is no
	// graver. What is proved more often than that is told once.
	stale = time.Hour
)

// ledger keeps the findings of a session, by what tells them apart. Those of one
// cause are a group.
type ledger struct {
	*kept.Store[Finding]
	fresh []*Finding // new, or graver than before, in this step
	// repeated are those that this step proved once more.
	repeated []*Finding
}

func newLedger() ledger {
	return ledger{Store: kept.New[Finding](int(Error)+1, kept.Limits{All: maxFindings, Group: maxClients, Age: stale})}
}

// enter adds a finding, or counts it to the one with the same key. One that
// settles what was found before takes its words. So does one that sums up, but
// nobody is told again.
func (l *ledger) enter(f *Finding, key, cause string, settles, sums bool) {
	if have := l.Get(key); have != nil {
		have.Last, have.LastSeq = f.At, f.LastSeq
		l.Use(key, f.At)
		if !settles {
			have.Count++
			l.repeat(have)
		}
		news := settles || f.Severity > have.Severity
		if !news && !sums {
			return
		}
		have.Message, have.same = f.Message, f.same
		if news {
			have.Severity, have.Seqs = max(have.Severity, f.Severity), f.Seqs
			l.tell(have)
		}
		if now := commonKey(have, cause); now != have.Common { // severity is part of it
			have.Cause, have.Common = l.Move(key, now, int(have.Severity)), now
		}
		return
	}
	f.Common = commonKey(f, cause)
	number, room := l.Add(key, f.Common, int(f.Severity), f.At, f)
	if !room {
		return
	}
	f.Cause = number
	l.tell(f)
}

// causeKey tells findings apart.
func causeKey(rule, client, typ, cause string) string {
	return rule + "\x00" + engine.Short(client) + "\x00" + engine.Short(typ) + "\x00" + engine.Short(cause)
}

// again counts a finding that is known and no less grave.
func (l *ledger) again(key string, severity Severity, at time.Time, seq session.Seq) bool {
	f := l.Get(key)
	if f == nil || f.Severity < severity {
		return false
	}
	f.Count++
	f.Last, f.LastSeq = at, seq
	l.Use(key, at)
	l.repeat(f)
	return true
}

// repeat notes what was proved once more, each once in a step.
func (l *ledger) repeat(f *Finding) {
	if len(l.repeated) < maxFindingNames && !slices.Contains(l.repeated, f) {
		l.repeated = append(l.repeated, f)
	}
}

func (l *ledger) tell(f *Finding) {
	if !slices.Contains(l.fresh, f) {
		l.fresh = append(l.fresh, f)
	}
}

// take returns what is new since it was last called, as it is now.
func (l *ledger) take() []Finding {
	if len(l.fresh) == 0 {
		return nil
	}
	out := make([]Finding, len(l.fresh))
	for i, f := range l.fresh {
		out[i] = *f
		f.Told, f.Was = true, f.Severity
	}
	clear(l.fresh)
	l.fresh = l.fresh[:0]
	return out
}
