package bisect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// Rejected is a response that a recorded client rejected.
type Rejected struct {
	Response session.Seq `json:"response"`
	NACK     session.Seq `json:"nack"`
	Client   string      `json:"client,omitempty"`
	Type     string      `json:"type"`
	Words    string      `json:"-"` // of the client, then
}

// Sentence says what it is.
func (r Rejected) Sentence() string {
	return fmt.Sprintf("entry %d: %s rejects entry %d (%s)", r.NACK, replay.ClientName(r.Client), r.Response, r.Type)
}

// NotRejectedError says that an entry is no rejection.
type NotRejectedError struct {
	Seq session.Seq // 0: none was named
	// What is what it is, as it goes on after "entry 7"; "" if there is none.
	What string
	// There are these, the last ones of them.
	There []Rejected
	// Polls is how many answers to polls there are, none of which is looked at.
	Polls int
}

func (e *NotRejectedError) Error() string {
	switch {
	case e.Seq == 0 && e.Polls > 0:
		return "no response on a stream was rejected, and answers to polls cannot be bisected"
	case e.Seq == 0:
		return "no response was rejected"
	case e.What == "":
		return fmt.Sprintf("there is no entry %d", e.Seq)
	}
	return fmt.Sprintf("entry %d %s", e.Seq, e.What)
}

// maxRejected is how many rejections a NotRejectedError lists.
const maxRejected = 20

// rejections are those of a recording, while they are looked for.
type rejections struct {
	seq   session.Seq
	found *Rejected
	there []Rejected
	what  string // that seq is, if it is no rejection
	polls int
	// clients are the node ids that came up.
	clients []string
}

// findRejection looks for the rejection that seq is or is rejected by, the last
// one if seq is 0.
func findRejection(ctx context.Context, src replay.Source, seq session.Seq) (_ Rejected, clients []string, err error) {
	r := &rejections{seq: seq}
	k := engine.New(engine.Options{Names: true})
	err = walk(ctx, src, func(e *session.Entry) error {
		c := k.Step(e)
		if c.Message != nil && !slices.Contains(r.clients, c.Client) && len(r.clients) < 1000 {
			r.clients = append(r.clients, c.Client)
		}
		r.step(e, &c)
		return nil
	})
	if seq == 0 && len(r.there) > 0 {
		r.found = &r.there[len(r.there)-1]
	}
	switch {
	case err != nil:
		return Rejected{}, nil, err
	case r.found == nil:
		return Rejected{}, nil, &NotRejectedError{Seq: seq, What: r.what, There: r.there, Polls: r.polls}
	}
	return *r.found, r.clients, nil
}

func (r *rejections) step(e *session.Entry, c *engine.Change) {
	if e.Seq == r.seq && r.what == "" {
		r.what = "is no message, so it cannot be rejected"
	}
	m := c.Message
	if m == nil {
		return
	}
	if m.Response() && c.Method.Unary {
		r.polls++
	}
	nack := m.Request() && m.Error != nil
	switch {
	case nack && c.Answers != 0 && replay.Streamed(c.Method):
		now := Rejected{Response: c.Answers, NACK: e.Seq, Client: c.Client, Type: c.Type, Words: m.Error.Message}
		if e.Seq == r.seq || c.Answers == r.seq {
			r.found = &now
		}
		if r.there = append(r.there, now); len(r.there) > maxRejected {
			r.there = r.there[1:]
		}
	case e.Seq == r.seq && nack && c.Answers != 0:
		r.what = "rejects the answer to a poll; only streams can be bisected"
	case e.Seq == r.seq && nack:
		r.what = "rejects a response that was not recorded"
	case e.Seq == r.seq && m.Response():
		r.what = fmt.Sprintf("is a response of %s that nobody rejects", c.Type)
	case e.Seq == r.seq && c.What == engine.ACK:
		r.what = fmt.Sprintf("accepts entry %d", c.Answers)
	case e.Seq == r.seq:
		r.what = "is neither a NACK nor a response"
	}
}

// walk calls f with each entry of a source until that returns io.EOF; damage
// ends it as the end does.
func walk(ctx context.Context, src replay.Source, f func(e *session.Entry) error) error {
	for {
		e, err := src.Next(ctx)
		if _, damaged := errors.AsType[*recorder.DamageError](err); errors.Is(err, io.EOF) || damaged {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Suspect is a resource of a rejected response that the client had not accepted
// before as it is.
type Suspect struct {
	Name    string
	Version string
	Type    string
	// Invalid says what a look at it finds wrong; it is no verdict.
	Invalid []string

	new *held
	old *held // of the same name, that it had accepted; nil if there is none
}

// Rejection is a rejected response, and what its client held at the time.
type Rejection struct {
	Rejected
	Suspects []Suspect
	// Resources is how many the response has.
	Resources int
	// Removed are names that the response takes away.
	Removed []string
	// Base is how many resources of the type the client had accepted.
	Base  int
	Notes []string

	clients []string
	key     string
	delta   bool
	has     map[string]*holdings // by type key: what it held
	base    *holdings            // of the type in question
	content []placed             // of the response
}

// placed is a resource in its place in the response.
type placed struct {
	*held
	suspect int // none for one that the client had accepted before
}

// ReadRejection reads what seq rejects, or by what it is rejected; the last
// rejection if seq is 0. It reads a recording three times, each time from what
// open gives, and closes that: for the rejection, for where the recording has
// what the client held, and for that.
func ReadRejection(ctx context.Context, seq session.Seq, open func() (replay.Source, func() error, error)) (*Rejection, error) {
	once := func(f func(src replay.Source) error) error {
		src, done, err := open()
		if err != nil {
			return err
		}
		return errors.Join(f(src), done())
	}
	r := &Rejection{has: map[string]*holdings{}}
	g := &gathering{r: r, in: inspect.New(nil)}
	for _, pass := range []func(src replay.Source) error{
		func(src replay.Source) (err error) {
			r.Rejected, r.clients, err = findRejection(ctx, src, seq)
			return err
		},
		func(src replay.Source) (err error) {
			g.held, err = r.findHeld(ctx, src)
			return err
		},
		func(src replay.Source) error {
			k := engine.New(engine.Options{Names: true})
			return walk(ctx, src, func(e *session.Entry) error {
				c := k.Step(e)
				return g.step(e, &c)
			})
		},
	} {
		if err := once(pass); err != nil {
			return nil, err
		}
	}
	if !g.read {
		return nil, fmt.Errorf("entry %d cannot be read again", r.Response)
	}
	r.suspect(g.in, g.rejected, g.removed)
	return r, nil
}

// suspect finds what a response changes of what the client had accepted.
func (r *Rejection) suspect(in *inspect.Inspector, list []*held, removed []string) {
	r.Resources, r.Base = len(list), len(r.base.items)
	here := map[string]bool{}
	unchanged := 0
	for _, h := range list {
		old := r.base.items[h.name]
		if old != nil && old.hash == h.hash && !here[h.name] {
			r.content = append(r.content, placed{h, int(replay.None)})
			unchanged++
		} else {
			r.content = append(r.content, placed{h, len(r.Suspects)})
			r.Suspects = append(r.Suspects, r.newSuspect(in, h, old))
		}
		here[h.name] = true
	}
	for _, n := range r.base.order {
		if !here[n] && (r.full() || slices.Contains(removed, n)) {
			r.Removed = append(r.Removed, n)
		}
	}
	if len(r.Suspects) == 0 && len(r.Removed) == 0 {
		r.Notes = append(r.Notes, "the response has nothing that the client had not accepted before: all of it is suspected")
		r.forget(in)
	}
}

// forget starts again from a client that has accepted nothing.
func (r *Rejection) forget(in *inspect.Inspector) {
	r.base = &holdings{typeURL: r.base.typeURL, whole: r.base.whole, items: map[string]*held{}}
	r.has[r.key] = r.base
	r.Suspects, r.Removed, r.Base = nil, nil, 0
	for i := range r.content {
		r.content[i].suspect = i
		r.Suspects = append(r.Suspects, r.newSuspect(in, r.content[i].held, nil))
	}
}

func (r *Rejection) newSuspect(in *inspect.Inspector, h, old *held) Suspect {
	s := Suspect{Name: h.name, Version: h.version, Type: xds.ShortType(h.typeURL), new: h, old: old}
	if h.typeURL == "" {
		s.Type = r.Type
	}
	facts := in.Inspect(h.typeURL, h.body, h.masked)
	s.Invalid = slices.Clone(facts.Invalid)
	if facts.Undecodable != "" {
		s.Invalid = append(s.Invalid, facts.Undecodable)
	}
	return s
}

// full says whether what a response does not have is gone.
func (r *Rejection) full() bool { return !r.delta && r.base.whole }

// named are the suspects that words speak of.
func (r *Rejection) named(words string, among []int) []int {
	const most = 64 << 10
	if len(words) > most {
		words = words[:most]
	}
	var out []int
	for _, i := range among {
		if n := r.Suspects[i].Name; n != "" && speaksOf(words, n) {
			out = append(out, i)
		}
	}
	return out
}

// speaksOf says whether a name is in a text, and not as a part of a longer one.
func speaksOf(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(name)
		if (i == 0 || !inName(text[i-1])) && (end == len(text) || !inName(text[end]) || text[end] == '.' || text[end] == ':') {
			return true
		}
		at = i + 1
	}
}

func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.:/|", c) >= 0
}
