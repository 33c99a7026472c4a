package replay

import (
	"net/http"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// Polling is one subscription by polls of REST: what a client asked for at one
// path, again and again. Its Stream has no steps, and the number of its first
// poll.
type Polling struct {
	*Stream
	TypeURL string
	Names   []string // that the first poll asked for, sorted
	HTTP1   bool     // it was HTTP/1.1
	Whole   bool     // what a content leaves out is gone
	Turns   []Turn
}

// Turn is a poll and what came back. Several that are alike and bring nothing
// new, one after the other, are one.
type Turn struct {
	Poll  session.Seq // its message
	At    int64       // nanoseconds since 1970
	Whole bool        // all of its bytes are there
	Times int
	Says  Claim
	Reply Reply
}

// Claim is what a poll says that its client has, held against the content that it
// was sent last.
type Claim uint8

const (
	HasNothing Claim = iota // it announces no version
	HasNewest               // it announces the version of that content
	HasOther                // it announces another version
)

// ClaimOf is what a poll with a version says, newest being that of the content
// that was sent last, as engine.Short has it.
func ClaimOf(version, newest string, sent bool) Claim {
	switch {
	case version == "":
		return HasNothing
	case sent && engine.Short(version) == newest:
		return HasNewest
	}
	return HasOther
}

// Reply is what came back to a poll.
type Reply struct {
	At      int64
	Status  int          // of HTTP; 0: none came
	By      session.Side // who ended a poll that got none; unknown: it was open when the recording ended
	Type    string       // content-type
	Body    session.Seq  // the message; 0: none that can be said again
	Version string       // of a content
	// News says that it is a content which was not what had been sent last.
	News   bool
	Masked bool
}

// Told says whether the reply is an error that says more than that the server, or
// what is in front of it, was away for a while.
func (r *Reply) Told() bool {
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return false
	}
	return r.Status >= http.StatusBadRequest
}

// Content says whether the reply is a content, be it new or not.
func (r *Reply) Content() bool { return r.Status == 200 && r.Body != 0 }

// Held is how long the poll was open.
func (t *Turn) Held() int64 { return max(0, t.Reply.At-t.At) }

// Judges says whether a turn is known to be what the client makes of the content
// before it. A poll without a version may be that of a new subscription, with
// which an Envoy begins anew what a changed cluster or listener refers to.
func (p *Polling) Judges(i int) bool {
	if i == 0 || !p.Turns[i-1].Reply.News || p.Partial {
		return false
	}
	return p.Turns[i].Says != HasNothing || p.Whole
}

// PollingOf is the one of those given that asks at a path for the names: for just
// these, or else for one of them.
func PollingOf[P interface{ Asks() *Polling }](all []P, client, path string, names []string) (found P, is bool) {
	names = slices.Sorted(slices.Values(names))
	for _, exact := range []bool{true, false} {
		for _, p := range all {
			of := p.Asks()
			if of.Client != client || of.Method.Path != path {
				continue
			}
			if slices.Equal(of.Names, names) || !exact && slices.ContainsFunc(names, func(n string) bool {
				_, has := slices.BinarySearch(of.Names, n)
				return has
			}) {
				return p, true
			}
		}
	}
	return found, false
}

// Asks is the polling itself.
func (p *Polling) Asks() *Polling { return p }
