package replay

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// The status of a reply is that of its header, or of its end where it has no header.
func TestStatusOfAReply(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *session.Entry) bool // false: the entry is left out
		want   int
	}{
		{"header and end", everything, 503},
		{"no header", func(e *session.Entry) bool { return e.Kind != session.KindHeader }, 503},
		{"no status at the end", func(e *session.Entry) bool {
			if e.Kind == session.KindTrailer {
				e.Status = nil
			}
			return true
		}, 503},
		{"no HTTP status at the end", func(e *session.Entry) bool {
			if e.Kind == session.KindTrailer {
				e.Status = &session.Status{Code: -1}
			}
			return true
		}, 503},
		{"no header, and none at the end", func(e *session.Entry) bool {
			if e.Kind == session.KindTrailer {
				e.Status = nil
			}
			return e.Kind != session.KindHeader
		}, 0},
	} {
		var all entries
		for _, e := range entriesOf(t, "P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 503\n") {
			if c.change(&e) {
				all = append(all, e)
			}
		}
		if turns := planOf(t, all).Pollings[0].Turns; len(turns) != 1 || turns[0].Reply.Status != c.want {
			t.Errorf("%s: %+v, want status %d", c.name, turns, c.want)
		}
	}
}

// A poll is ended by its own connection, and by no other.
func TestPollsHungUp(t *testing.T) {
	for _, c := range []struct {
		name  string
		conn  session.ConnID // that is closed, after the one of the poll
		by    session.Side
		ended bool
	}{
		{"its own", 0, session.Server, true},
		{"another", 1, session.SideUnknown, false},
	} {
		all := entriesOf(t, "P> path=/v3/discovery:clusters type=CDS V= node=n1\n")
		last := all[len(all)-1]
		poll := all[slices.IndexFunc(all, func(e session.Entry) bool { return e.Message != nil })]
		all = append(all, session.Entry{Seq: last.Seq + 1, Time: last.Time, Conn: poll.Conn + c.conn, Side: session.Server, Kind: session.KindDisconnect, Status: &session.Status{Code: -1}})
		turns := planOf(t, all).Pollings[0].Turns
		if len(turns) != 1 || turns[0].Poll != poll.Seq || turns[0].Reply.Status != 0 || turns[0].Reply.By != c.by {
			t.Errorf("%s: %+v, want the end by %s", c.name, turns, c.by)
		}
	}
}

// Polls over HTTP/1.1 are played over it.
func TestPollsOverHTTP1(t *testing.T) {
	for h2, want := range map[uint32]bool{0: true, 1: false} {
		all := entriesOf(t, "P> path=/v3/discovery:clusters type=CDS V= node=n1\np< 304\n")
		for i := range all {
			if all[i].Stream != 0 {
				all[i].H2 = h2
			}
		}
		if of := planOf(t, all).Pollings[0]; of.HTTP1 != want {
			t.Errorf("stream %d of HTTP/2: HTTP/1.1 is %v", h2, of.HTTP1)
		}
	}
}
