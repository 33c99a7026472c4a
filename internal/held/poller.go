package held

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// soon is the shortest time between two looks.
	soon = time.Second
	// share is the part of the time, one in so many, for which a client may be
	// busy with us.
	share = 10
	// wholeEvery is how long after a whole entry the next one is due if anything
	// changed, and elsewhereEvery if only another segment has begun: all answers
	// together may fill one, and must not fill one after the other.
	wholeEvery     = 5 * time.Minute
	elsewhereEvery = time.Hour
	maxCauses      = 16
	starting       = 10 * time.Second
)

// poller asks one place. But for what is said, it is of one goroutine.
type poller struct {
	k     *Keeper
	o     *Options
	place *Place
	asker interface {
		// ask asks once. nil: it says what it said before, unless again.
		ask(ctx context.Context, again bool) (*answer, error)
	}
	wake chan struct{}
	node atomic.Pointer[string] // nil: not known yet

	told      told
	whole     time.Time // of the last whole entry; zero: the next one has to be
	handed    time.Time // of the last entry that has an answer
	confirmed int       // entries since then that say that nothing has changed
	lost      uint64    // entries that the log had lost when the last whole one was handed on
	losing    uint64    // and at the last look
	segment   uint64    // that was written when the last whole one was handed on
	writing   uint64    // and at the last look
	unsettled int       // looks since something began to be waited for
	causes    []string  // that were said since it could be asked last
	notes     []string  // that were said
	began     time.Time // of the first look
	unsaid    *News     // that nobody listens, while the client may be starting
}

func newPoller(k *Keeper, o *Options, place *Place) *poller {
	p := &poller{k: k, o: o, place: place, wake: make(chan struct{}, 1)}
	if place.Node != "" {
		p.node.Store(&place.Node)
	}
	if place.Source == CSDS {
		p.asker = &program{place: place, access: &o.Access}
	} else {
		p.asker = &envoy{place: place, access: &o.Access, files: o.Files}
	}
	return p
}

// run asks until ctx is done.
func (p *poller) run(ctx context.Context) {
	shortest := min(soon, p.o.Interval)
	p.began = time.Now()
	for ctx.Err() == nil {
		began := time.Now()
		settled := p.look(ctx, began)
		rest := max(shortest, share*time.Since(began))
		sleep(ctx, rest, nil)
		next := p.o.Interval
		if p.unsettled++; settled {
			p.unsettled = 0
		} else {
			next = min(next, shortest<<min(p.unsettled, 10))
		}
		if sleep(ctx, next-rest, p.wake) {
			p.unsettled = 0
		}
	}
}

// sleep waits so long, or until it is woken.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool) {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-wake:
		return true
	}
	return false
}

// look asks once, and hands on what changed. settled says that nothing is waited
// for.
func (p *poller) look(ctx context.Context, began time.Time) (settled bool) {
	within, cancel := context.WithTimeout(ctx, cmp.Or(p.o.Patience, patience))
	defer cancel()
	p.k.asked.Add(1)
	due, anew := p.whole.IsZero(), p.missed() || p.elsewhere(began)
	a, err := p.guarded(within, due || anew)
	if ctx.Err() != nil {
		return true
	}
	if err == nil && a != nil {
		err = p.check(a)
	}
	if err != nil {
		p.k.failed.Add(1)
		p.fail(faultOf(err, cmp.Or(p.o.Patience, patience)))
		return false
	}
	if due {
		p.causes = nil
	}
	if a == nil {
		p.confirm(began)
		return p.unsettled == 0
	}
	p.hand(a, began, anew)
	return a.settled()
}

// missed says whether the log has lost entries since the last whole one, of which this
// client's may have been some, and loses no more.
func (p *poller) missed() bool {
	if p.o.Log == nil {
		return false
	}
	before := p.losing
	p.losing, p.writing = p.o.Log()
	return p.losing == before && p.losing != p.lost
}

// elsewhere says whether the last whole one is in an earlier segment, and the next one
// is due.
func (p *poller) elsewhere(now time.Time) bool {
	return p.writing != p.segment && now.Sub(p.whole) >= elsewhereEvery
}

// guarded is ask, of which a panic is an error: what a client says must not end the
// program. What it says may hold what the client said, and is not passed on.
func (p *poller) guarded(ctx context.Context, again bool) (a *answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			a, err = nil, &fault{kind: "panic", text: fmt.Sprintf("reading its answer failed (%T)", cause)}
		}
	}()
	return p.asker.ask(ctx, again)
}

// check says whether it is the client that was meant.
func (p *poller) check(a *answer) error {
	want := p.place.Node
	switch {
	case a.id == "" && want != "":
		a.id = want
		if a.node == nil {
			a.node = appendText(nil, 1, want)
		}
	case want != "" && a.id != want:
		return &fault{kind: "node", text: fmt.Sprintf("it is node %s, and not %s", quoted(a.id), quoted(want))}
	}
	p.node.Store(&a.id)
	return nil
}

// hand appends what changed, or all of it anew.
func (p *poller) hand(a *answer, began time.Time, anew bool) {
	now := time.Now()
	first := p.whole.IsZero()
	again := first || now.Sub(p.whole) >= wholeEvery
	before := p.told
	items, whole := p.told.changes(a, false)
	if again && !whole && len(items) > 0 || first || anew {
		p.told = before
		items, whole = p.told.changes(a, true)
	}
	if first {
		p.unsaid = nil
		p.tell(&News{Node: a.id})
	}
	if notes := slices.DeleteFunc(slices.Clone(a.notes), func(s string) bool { return slices.Contains(p.notes, s) }); len(notes) > 0 && len(p.notes) < maxCauses {
		p.notes = append(p.notes, notes...)
		p.tell(&News{Node: a.id, Notes: notes})
	}
	if len(items) == 0 && !whole {
		p.confirm(began)
		return
	}
	if whole {
		p.whole, p.lost, p.segment = now, p.losing, p.writing
	}
	p.handed, p.confirmed = now, 0
	data := response(a.node, items)
	p.o.Append(p.entry(began, &session.Held{Node: a.id, Whole: whole}, data))
}

// confirm says, some time after the last change, that there was none since. Without
// that, a recording would not tell what stays as it is from what nobody looked at.
func (p *poller) confirm(began time.Time) {
	after := [...]time.Duration{5 * time.Second, 40 * time.Second, 5 * time.Minute}
	id := p.node.Load()
	if id == nil || p.confirmed >= len(after) || time.Since(p.handed) < after[p.confirmed] {
		return
	}
	p.confirmed++
	p.o.Append(p.entry(began, &session.Held{Node: *id}, response(appendText(nil, 1, *id), nil)))
}

// fail says why there is nothing to hand on, once for each cause.
func (p *poller) fail(f *fault) {
	answered, early := !p.whole.IsZero(), time.Since(p.began) < cmp.Or(p.o.Starting, starting)
	p.whole = time.Time{}
	if p.unsaid != nil && !early {
		p.tell(p.unsaid)
		p.unsaid = nil
	}
	if slices.Contains(p.causes, f.kind) || len(p.causes) >= maxCauses {
		return
	}
	p.causes = append(p.causes, f.kind)
	node := p.place.Node
	if id := p.node.Load(); id != nil {
		node = *id
	}
	news := &News{Node: node, Fault: f.text, Hint: f.hint}
	if f.kind == "nobody" && !answered && early {
		p.unsaid = news
	} else {
		p.tell(news)
	}
	p.o.Append(p.entry(time.Time{}, &session.Held{Node: node, Failed: f.text}, nil))
}

func (p *poller) tell(n *News) {
	n.Place = p.place
	p.o.Said(n)
}

// entry is what the log is told. Start is when the client was asked: what it
// accepted before then is in its answer.
func (p *poller) entry(began time.Time, h *session.Held, data []byte) session.Entry {
	h.Source, h.Address = string(p.place.Source), p.place.String()
	e := session.Entry{Kind: session.KindHeld, Side: session.Client, Time: time.Now(), Start: began, Held: h}
	if data != nil {
		n := int64(len(data))
		e.Message = &session.Message{Data: session.Chunks{data}, Size: n, WireSize: n}
	}
	return e
}

// settled says whether the client waits for nothing.
func (a *answer) settled() bool {
	return !slices.ContainsFunc(a.items, func(i item) bool { return i.waits || i.typeURL == unreadyURL })
}
