// Package fault says what a replay does wrong on purpose, and at which of the
// recorded messages. It reads what --fault is given and counts; it sends nothing,
// and knows neither the language of filters nor how a fault is done.
package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/session"
)

// Kind is what goes wrong.
type Kind string

// The faults of a played server are done to responses, Refuse to the opening of a
// stream.
const (
	Delay         Kind = "delay"     // it is sent later
	Drop          Kind = "drop"      // it is not sent
	Duplicate     Kind = "duplicate" // it is sent twice
	Reorder       Kind = "reorder"   // it is sent after the next one
	VersionReused Kind = "version-reused"
	Cut           Kind = "cut"    // the stream ends before it, and it is sent on the next one
	GoAway        Kind = "goaway" // the same, and the connection goes away
	Reset         Kind = "reset"  // the same by RST_STREAM, without a status
	Refuse        Kind = "refuse" // the stream ends before anything is heard
)

// Those of played clients are done to answers, WrongNonce to any request that has
// a nonce, ReconnectStorm to the opening of a stream.
const (
	NACK           Kind = "nack"    // an ACK is a NACK
	Silence        Kind = "silence" // it is not sent
	WrongNonce     Kind = "wrong-nonce"
	LateACK        Kind = "late-ack"
	ReconnectStorm Kind = "reconnect-storm" // the stream is opened many times in vain
)

// value is what may stand behind a kind, and what it is without.
type value struct {
	form, usual string
	good        func(string) bool
}

// kind is one that there is.
type kind struct {
	name   Kind
	server bool
	value  *value
}

func kinds() []kind {
	number := func(least, most uint64) func(string) bool {
		return func(s string) bool {
			n, err := strconv.ParseUint(s, 10, 32)
			return err == nil && n >= least && n <= most
		}
	}
	// What is usual is longer than rules and clients wait: DNE and ACK of
	// check's timers, initial_fetch_timeout of Envoy.
	duration := func(usual string) *value {
		return &value{"a duration such as 5s, of 1h at most", usual, func(s string) bool {
			d, err := time.ParseDuration(s)
			return err == nil && d > 0 && d <= time.Hour
		}}
	}
	return []kind{
		{Delay, true, duration("16s")},
		{Drop, true, nil},
		{Duplicate, true, nil},
		{Reorder, true, nil},
		{VersionReused, true, nil},
		{Cut, true, nil},
		{GoAway, true, nil},
		{Reset, true, &value{"an HTTP/2 error code from 0 to 13", "2", number(0, 13)}},
		{Refuse, true, &value{"a gRPC status code from 1 to 16", "8", number(1, 16)}},
		{NACK, false, nil},
		{Silence, false, nil},
		{WrongNonce, false, nil},
		{LateACK, false, duration("12s")},
		{ReconnectStorm, false, &value{"a number from 1 to 1000", "20", number(1, 1000)}},
	}
}

// Names are the kinds of a played server, or of played clients.
func Names(server bool) []string {
	var out []string
	for _, k := range kinds() {
		if k.server == server {
			out = append(out, string(k.name))
		}
	}
	return out
}

// Fault is one that was asked for.
type Fault struct {
	Kind   Kind
	Filter string // which messages; "" for all
	value  string
	text   string
	first  int // of those, counted from 1
	last   int // 0: and all after it
	seen   int
	done   int
}

// String is the text that the fault was made of.
func (f *Fault) String() string { return f.text }

// For is how long it takes, of one that does.
func (f *Fault) For() time.Duration { d, _ := time.ParseDuration(f.value); return d }

// Number is its number, of one that has one.
func (f *Fault) Number() uint32 { n, _ := strconv.ParseUint(f.value, 10, 32); return uint32(n) }

// Error says what is wrong with the text of a fault.
type Error struct {
	Text, Message string
	Hint          string // what may help, or ""
}

func (e *Error) Error() string { return fmt.Sprintf("%q: %s", e.Text, e.Message) }

// Parse reads KIND[=VALUE][:FILTER][#COUNT]. COUNT is 2, 2..4, 2.. or * for all;
// without it, the first is meant.
func Parse(text string, server bool) (*Fault, error) {
	wrong := func(hint, format string, args ...any) (*Fault, error) {
		return nil, &Error{text, fmt.Sprintf(format, args...), hint}
	}
	f := &Fault{text: text, first: 1, last: 1}
	when := text
	if i := strings.LastIndexByte(text, '#'); i >= 0 && counts(text[i+1:]) {
		var ok bool
		if f.first, f.last, ok = count(text[i+1:]); !ok {
			return wrong("", "%q is no count such as 2, 2..4, 2.. or *", text[i+1:])
		}
		when = text[:i]
	}
	name, filter, _ := strings.Cut(when, ":")
	name, val, valued := strings.Cut(name, "=")
	f.Kind, f.Filter = Kind(name), strings.TrimSpace(filter)
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return string(k.name) == name })
	switch {
	case i < 0:
		names := Names(server)
		hint := "one of " + strings.Join(names, ", ")
		if best := nearest.Name(name, names); best != "" {
			hint = "did you mean " + best + "?"
		}
		return wrong(hint, "there is no fault %q", name)
	case all[i].server && !server:
		return wrong("with --as client: "+strings.Join(Names(false), ", "), "%s is for --as server", name)
	case !all[i].server && server:
		return wrong("with --as server: "+strings.Join(Names(true), ", "), "%s is for --as client", name)
	case all[i].value == nil && valued:
		return wrong("", "%s takes no value", name)
	case all[i].value != nil:
		if f.value = all[i].value.usual; valued {
			f.value = val
		}
		if !all[i].value.good(f.value) {
			return wrong("", "%s takes %s, and %q is none", name, all[i].value.form, f.value)
		}
	}
	return f, nil
}

// counts says whether what follows the last # is meant to be a count, and not
// part of a name.
func counts(s string) bool { return s == "" || s[0] == '*' || s[0] >= '0' && s[0] <= '9' }

func count(s string) (first, last int, ok bool) {
	if s == "*" {
		return 1, 0, true
	}
	from, to, ranged := strings.Cut(s, "..")
	first, err := strconv.Atoi(from)
	if err != nil || first < 1 {
		return 0, 0, false
	}
	switch {
	case !ranged:
		return first, first, true
	case to == "":
		return first, 0, true
	}
	last, err = strconv.Atoi(to)
	return first, last, err == nil && last >= first
}

// concerns says whether a fault can be done to an entry.
func (f *Fault) concerns(e *session.Entry, c *engine.Change) bool {
	if c.Stream == nil || !c.Stream.Discovery() {
		return false
	}
	switch f.Kind {
	case Refuse, ReconnectStorm:
		return e.Kind == session.KindOpen
	case WrongNonce:
		return c.Request != nil && c.Message.Nonce != ""
	case NACK:
		return c.Request != nil && c.Request.Verdict == engine.ACKed
	case Silence, LateACK:
		return c.Request != nil && c.Request.Verdict != engine.Unjudged
	}
	return c.Response != nil
}

// Set is what is done wrong in one replay.
type Set struct {
	All []*Fault

	mu sync.Mutex
	at map[session.Seq][]*Fault
}

// maxFaulty bounds the messages to which something is done.
const maxFaulty = 1 << 20

// See takes the next entry of the recording; takes says whether the filter of
// the fault with a number wants it.
func (s *Set) See(e *session.Entry, c *engine.Change, takes func(i int) bool) {
	for i, f := range s.All {
		if wanted := takes(i); !wanted || !f.concerns(e, c) {
			continue
		}
		if f.seen++; f.seen < f.first || f.last > 0 && f.seen > f.last || len(s.at) >= maxFaulty {
			continue
		}
		if s.at == nil {
			s.at = map[session.Seq][]*Fault{}
		}
		s.at[e.Seq] = append(s.at[e.Seq], f)
	}
}

// Idle is the first fault that is done to nothing, and how many messages are
// what its filter wants; nil if there is none.
func (s *Set) Idle() (f *Fault, matches int) {
	if s == nil {
		return nil, 0
	}
	for _, f := range s.All {
		if f.seen < f.first {
			return f, f.seen
		}
	}
	return nil, 0
}

// Undone says of each fault that was done less often than was asked for how often
// it was not.
func (s *Set) Undone() (all []string) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.All {
		last, why := f.last, "the replay did not come to it"
		if last == 0 {
			last = f.seen
		}
		if f.seen < last {
			why = fmt.Sprintf("the recording has %d of what it is for", f.seen)
		}
		if missing := last - f.first + 1 - f.done; missing > 0 {
			all = append(all, fmt.Sprintf("--fault %q was done %d of %d times: %s", f, f.done, f.done+missing, why))
		}
	}
	return all
}

// Patience is how long nothing has to be said until what the faults lead to can
// be found: a name counts as missing after 15s, a response without an answer
// after 10s, or 20s if its client says nothing else, and one of clusters after
// 30s. 0: no longer than ever.
func (s *Set) Patience() time.Duration {
	switch {
	case s.Has(Silence):
		return 35 * time.Second
	case s.Has(Drop, Delay, Reorder):
		return 20 * time.Second
	}
	return 0
}

// Has says whether there is a fault of one of the kinds.
func (s *Set) Has(kinds ...Kind) bool {
	return s != nil && slices.ContainsFunc(s.All, func(f *Fault) bool { return slices.Contains(kinds, f.Kind) })
}

// Take returns the faults of these kinds that are to be done to an entry, and
// forgets them. It may be called by several goroutines.
func (s *Set) Take(seq session.Seq, kinds ...Kind) (taken []*Fault) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		return nil
	}
	s.at[seq] = slices.DeleteFunc(s.at[seq], func(f *Fault) bool {
		is := slices.Contains(kinds, f.Kind)
		if is {
			taken = append(taken, f)
			f.done++
		}
		return is
	})
	if len(s.at[seq]) == 0 {
		delete(s.at, seq)
	}
	return taken
}
