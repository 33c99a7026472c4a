package replay

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// failing gives entries, and then an error.
type failing struct {
	entries
	err error
}

func (s *failing) Next(ctx context.Context) (session.Entry, error) {
	e, err := s.entries.Next(ctx)
	if err != nil {
		err = s.err
	}
	return e, err
}

func everything(*session.Entry) bool { return true }

// What of a recording is not played is said, in these words and no others.
func TestNotes(t *testing.T) {
	const updates = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
S< type=CDS V=2 N=b res=[c1#2]
C> type=CDS V=2 N=b R=[]
S< type=CDS V=3 N=c res=[c1#3]
C> type=CDS V=3 N=c R=[]
`
	const poll = "P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 200 type=CDS V=1 res=[c1]\n"
	gap := func(cause session.GapCause, at ...session.Seq) func(e *session.Entry) bool {
		return func(e *session.Entry) bool {
			for _, seq := range at {
				if e.Seq == seq {
					*e = session.Entry{
						Seq: seq, Time: e.Time, Kind: session.KindGap,
						Gap: &session.Gap{First: seq, Last: seq + 1, Entries: 2, Streams: []session.StreamID{e.Stream}, Cause: cause},
					}
				} else if e.Seq == seq+1 {
					return false
				}
			}
			return true
		}
	}
	without := func(end int, at session.Seq) func(e *session.Entry) bool {
		return func(e *session.Entry) bool {
			if e.Seq == at && e.Message != nil {
				m := *e.Message
				b := m.Data.Bytes()
				m.Data, m.Truncated = session.Chunks{b[:len(b)-end]}, true
				e.Message = &m
			}
			return true
		}
	}
	from := func(first session.Seq, carried ...session.Seq) func(e *session.Entry) bool {
		return func(e *session.Entry) bool {
			for _, seq := range carried {
				if e.Seq == seq {
					e.Carried = true
					return true
				}
			}
			return e.Seq >= first
		}
	}
	const missing = "what is missing is neither said again nor expected"
	const partial = `stream 1 of "n1" (sotw-ads) was not recorded from its beginning, or not without loss: ` + missing
	for _, c := range []struct {
		name, script string
		change       func(e *session.Entry) bool
		want         []string
		streams      int
	}{
		{"whole", updates, everything, nil, 1},
		{"lost", updates, gap(session.Lost, 8), []string{"entries 8 to 9 were lost when it was recorded: what was said in them is neither said again nor expected", partial}, 1},
		{"cut out", updates, gap(session.Cut, 8), []string{"entries 8 to 9 were left out on purpose: what was said in them is neither said again nor expected"}, 1},
		{"cut out twice", updates, gap(session.CutBare, 6, 8), []string{"4 entries between 6 and 9 were left out on purpose: what was said in them is neither said again nor expected"}, 1},
		{"response without its end", updates, without(1, 7), []string{"entry 7 was recorded in part: it is not said again"}, 1},
		{"response without its type", updates, without(100, 7), []string{"entry 7 was recorded in part, and not of which type it is: it is not said again", partial}, 1},
		{"begins in the middle", updates, from(6), []string{"not played: 1 stream of which the headers were not recorded"}, 0},
		{"begins in the middle, with headers", updates, from(6, 1, 2, 3), []string{partial}, 1},
		{"other streams", "-- stream 1 node=n1\nL> node=n1\nl< clusters=[c1] interval=10s\n-- stream 2 method=/other.Service/Method\n-- stream 3 method=/other.Service/Method2\n-- csds node=n1 CDS/c1=NACKED@1\n", everything, []string{
			"not played: 1 stream of load reports", "not played: 2 streams of other services",
		}, 0},
		{"versions that nobody gave", "C> type=CDS V=9 N= R=[] node=n1\nS< type=CDS V=9 N=a res=[c1]\n-- cut by=server\n-- stream 2\nC> type=CDS V=9 N= R=[] node=n1\n", everything, []string{
			`stream 1 of "n1" (sotw-ads) begins with versions that its client already had: a client that has none is not sent what they stand for`,
		}, 2},
		{"poll in part", poll, without(1, 3), []string{`stream 1 of a client without a node id (rest CDS) was not recorded whole: ` + missing}, 0},
		{"reply in part", poll, without(1, 6), []string{"entry 6 was recorded in part: it is not said again", `stream 1 of "n1" (rest CDS) was not recorded whole: ` + missing}, 0},
	} {
		var all entries
		for _, e := range entriesOf(t, c.script) {
			if c.change(&e) {
				all = append(all, e)
			}
		}
		p := planOf(t, all)
		if d := cmp.Diff(c.want, p.Notes); d != "" || len(p.Streams) != c.streams {
			t.Errorf("%s: %d streams, want %d; %s", c.name, len(p.Streams), c.streams, d)
		}
	}
}

// Damage ends the plan, and is told in it; any other error is one.
func TestReadDamaged(t *testing.T) {
	for name, err := range map[string]error{"damage": &recorder.DamageError{}, "other": errors.New("disk is gone")} {
		src := failing{entriesOf(t, "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\n"), err}
		p, got := Read(t.Context(), &src, nil)
		if !errors.Is(got, err) {
			t.Errorf("%s: %v", name, got)
		}
		if name == "other" {
			if p != nil {
				t.Error("there is a plan of what could not be read")
			}
			continue
		}
		want := "the recording is damaged: 5 entries could be read, and what comes after is not played"
		if p == nil || len(p.Streams) != 1 || strings.Join(p.Notes, "\n") != want {
			t.Errorf("%+v, want %s", p, want)
		}
		_ = p.Close()
	}
}
