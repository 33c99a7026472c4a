package bisect

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/replay"
)

// errLost says that the client went away before it answered.
var errLost = errors.New("the client went away")

// BaseRejectedError says that the client rejects what the recorded one held.
type BaseRejectedError struct {
	Type, Words string
}

func (e *BaseRejectedError) Error() string {
	return fmt.Sprintf("the client rejects what the recorded one had accepted of %s before: %s", e.Type, e.Words)
}

// AbsentError says that no client came, or asked for the type.
type AbsentError struct {
	Type  string
	After time.Duration
	Came  bool     // but did not ask for it
	Lacks []string // as of a SilentError
}

func (e *AbsentError) Error() string {
	if e.Came {
		return fmt.Sprintf("the client did not ask for %s within %s", e.Type, e.After)
	}
	return fmt.Sprintf("no client came within %s", e.After)
}

// SilentError says that the client does not answer a response.
type SilentError struct {
	What  string // the response
	After time.Duration
	// Lacks are some of what the client asked for and the recording does not
	// have, such as `SDS "certificate"`.
	Lacks []string
}

func (e *SilentError) Error() string {
	return fmt.Sprintf("the client gives no answer within %s to %s", e.After, e.What)
}

// silent is that error.
func (t *trials) silent(what string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &SilentError{What: what, After: t.timeout, Lacks: slices.Clone(t.lacks)}
}

// trials makes trials, one after the other.
type trials struct {
	*bench
	timeout, wait time.Duration
	told          map[[32]byte]outcome // trials that were made, by what was sent
}

// trial is one of some suspects.
type trial struct {
	set []int
	// bare leaves out everything else, so far as the type allows.
	bare bool
	// again makes it even if the same was sent before.
	again bool
	begin func() // is called if it is made
}

// line waits for a stream on which the type is asked for, with the names that
// are suspected, unless the client will not ask for those.
func (t *trials) line(ctx context.Context) (*line, error) {
	late := time.NewTimer(t.wait)
	defer late.Stop()
	names := time.NewTimer(t.wait)
	defer names.Stop()
	var on *line
	patient := true
	for {
		t.mu.Lock()
		l, news, came, lacks := t.target, t.news, t.taken, slices.Clone(t.lacks)
		lacking := ""
		if l != nil {
			lacking = t.lacking(l)
		}
		t.mu.Unlock()
		if l != nil && (lacking == "" || !patient) {
			if lacking != "" {
				t.ledger.Note("the client does not ask for %q, which it may therefore ignore", replay.Bounded(lacking))
			}
			return l, nil
		}
		if l != on {
			on = l
			names.Reset(t.timeout)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-news:
		case <-names.C:
			patient = on == nil
		case <-late.C:
			return nil, &AbsentError{Type: t.r.Type, After: t.wait, Came: came, Lacks: lacks}
		}
	}
}

// lacking is the first suspect that a stream does not ask for. t.mu is held.
func (t *trials) lacking(l *line) string {
	topic := l.topics[t.r.key]
	for i := range t.r.Suspects {
		if s := &t.r.Suspects[i]; !topic.wants(s.new) {
			return s.Name
		}
	}
	return ""
}

// converse sends a response and waits for its answer.
func (t *trials) converse(ctx context.Context, l *line, items []*held, removed []string) (outcome, error) {
	t.mu.Lock()
	t.nonces++
	t.round++
	w := &waiting{answer: make(chan outcome, 1)}
	w.version = fmt.Sprintf("bisect-%d", t.nonces)
	w.nonce = w.version
	t.waiting = w
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		if t.waiting == w {
			t.waiting = nil
		}
		t.mu.Unlock()
	}()
	out := (&said{typeURL: t.r.base.typeURL, version: w.version, nonce: w.nonce, items: items, removed: removed}).bytes(l.delta())
	out = t.renewed(out, l.delta(), items)
	late := time.NewTimer(t.timeout)
	defer late.Stop()
	send, next, more := l.out, out, t.onceMore(l)
	for {
		select {
		case <-ctx.Done():
			return outcome{}, ctx.Err()
		case <-l.gone:
			select {
			case o := <-w.answer: // with its last words
				return o, nil
			default:
			}
			return outcome{}, errLost
		case send <- next:
			if len(more) == 0 {
				send = nil
				continue
			}
			next, more = more[0], more[1:]
		case o := <-w.answer:
			return o, nil
		case <-late.C:
			return outcome{verdict: replay.Unanswered}, nil
		}
	}
}

// toBase brings the client to what the recorded one held.
func (t *trials) toBase(ctx context.Context, l *line) error {
	for {
		items, removed, changes, there := t.baseFor(l)
		if there {
			return nil
		}
		o, err := t.converse(ctx, l, items, removed)
		switch {
		case err != nil:
			return err
		case o.verdict == replay.NACKed:
			return &BaseRejectedError{Type: t.r.Type, Words: o.words}
		case o.verdict == replay.Unanswered:
			return t.silent("what the recorded one had accepted")
		}
		t.mu.Lock()
		if l.topics[t.r.key].changes == changes { // else it asks for more by now
			l.at = atBase
		}
		t.mu.Unlock()
	}
}

// baseFor is what has to be sent so that the client has what the recorded one
// held, whatever of the response it has now; there says that it has it already.
// changes is how often its wishes had changed by then.
func (t *trials) baseFor(l *line) (items []*held, removed []string, changes int, there bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	topic, r := l.topics[t.r.key], t.r
	if l.at == atBase {
		return nil, nil, 0, true
	}
	for _, it := range r.base.list() {
		if topic.wants(it) {
			items = append(items, it)
		}
	}
	if l.delta() && l.at != atNothing {
		told := map[string]bool{}
		gone := func(n string) {
			if r.base.items[n] == nil && !told[n] {
				told[n] = true
				removed = append(removed, n)
			}
		}
		for i := range r.Suspects {
			gone(r.Suspects[i].Name)
		}
		for _, n := range topic.declared {
			gone(n)
		}
	}
	if len(items)+len(removed) == 0 && (l.at == atNothing || l.delta() || !r.base.whole) {
		l.at = atBase
		return nil, nil, 0, true
	}
	return items, removed, topic.changes, false
}

// supply lets a client that has come have what else it asks for, as far as the
// recorded one had it.
func (t *trials) supply(ctx context.Context, l *line) error {
	for !l.supplied {
		t.mu.Lock()
		news, wait := t.news, replay.Grace-time.Since(t.heard)
		ready := true
		for key, h := range t.r.has {
			ready = ready && (key == t.r.key || !h.accepted || t.met[key])
		}
		t.mu.Unlock()
		if ready || wait <= 0 {
			l.supplied = true
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-news:
		case <-l.gone:
			l.supplied = true // what is sent says so
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// try makes a trial, or remembers it. A client that goes away is waited for; that
// it does so each time counts as an answer.
func (t *trials) try(ctx context.Context, q trial) (outcome, error) {
	const often = 2
	for lost := 0; ; {
		l, err := t.line(ctx)
		if err != nil {
			return outcome{}, err
		}
		items, removed := t.content(q.set, q.bare, l.delta())
		key := sumOfSent(items, removed)
		if o, is := t.told[key]; is && !q.again {
			return o, nil
		}
		if q.begin != nil {
			q.begin()
			q.begin = nil
		}
		if err = t.toBase(ctx, l); errors.Is(err, errLost) {
			if lost++; lost < 2*often {
				continue
			}
		}
		if err != nil {
			return outcome{}, err
		}
		if err := t.supply(ctx, l); err != nil {
			return outcome{}, err
		}
		t.mu.Lock()
		l.at = atUnknown
		t.mu.Unlock()
		o, err := t.converse(ctx, l, items, removed)
		if errors.Is(err, errLost) {
			if lost++; lost < often {
				continue
			}
			o, err = outcome{verdict: replay.NACKed, code: -1, words: "(the client went away each time that it got this, without a word)"}, nil
		}
		if err == nil && o.verdict != replay.Unanswered {
			t.told[key] = o
		}
		return o, err
	}
}

// sumOfSent tells apart what is sent, in its order.
func sumOfSent(items []*held, removed []string) (sum [32]byte) {
	h := sha256.New()
	part := func(b []byte) {
		h.Write(binary.AppendUvarint(nil, uint64(len(b))))
		h.Write(b)
	}
	for _, it := range items {
		part([]byte(it.name))
		part(it.raw)
	}
	part(nil)
	for _, n := range removed {
		part([]byte(n))
	}
	h.Sum(sum[:0])
	return sum
}

// content is the response with only those of the suspects that are in set, in
// its order. In delta that is all: what the client has it keeps.
func (t *trials) content(set []int, bare, delta bool) (items []*held, removed []string) {
	r := t.r
	in := make(map[int]bool, len(set))
	for _, i := range set {
		in[i] = true
	}
	alone := bare || delta
	here := map[string]bool{}
	for _, p := range r.content {
		if p.suspect == int(replay.None) && !alone || p.suspect != int(replay.None) && in[p.suspect] {
			here[p.name] = true
		}
	}
	for _, p := range r.content {
		switch {
		case p.suspect == int(replay.None) && !alone, p.suspect != int(replay.None) && in[p.suspect]:
			items = append(items, p.held)
		case p.suspect != int(replay.None) && !here[p.name] && !alone:
			if old := r.Suspects[p.suspect].old; old != nil { // it keeps what it had
				here[p.name] = true
				items = append(items, old)
			}
		}
	}
	if bare {
		return items, nil
	}
	return items, r.Removed
}
