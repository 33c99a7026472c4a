package shadow

import (
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// Compared is what the live server and the target have given a client of a type
// by now, by name and content, and not message by message: the same may come in
// one response or in three. A resource that is not the same at both is unlike.
//
// Either server may hear of a change first, so that what is unlike becomes a
// difference only when it has been so for patience. If it is the same again
// within Options.Idle, the difference is withdrawn.

const (
	// patience is how long a resource has to be unlike, both sides unchanged, to be
	// a difference; where one of them changes all the time, restless.
	patience = 500 * time.Millisecond
	restless = 5 * time.Second
	// effort is what part of the time is spent on comparing a type of one stream.
	effort = 20
)

// likeness is how a type of a stream compares at one target. It outlives the
// target's own streams.
type likeness struct {
	key, typ string
	unlike   map[string]*unlike
	fresh    bool // an answer of the live server was not held against the target's
	compared bool // the accounts of now were
	live     int  // resources that the live server has given
	given    int  // of which the target gives any
	round    uint64
	at       time.Time
	took     time.Duration
}

// unlike is a resource that is not the same at both.
type unlike struct {
	leg          *leg
	a, b         side
	entry        *engine.Resource // of the live server; nil: none
	first, since time.Time
	round        uint64 // when it was so last
	decided      bool
	now          *Difference   // that it is; nil: none
	told         []*Difference // that it was, since it is unlike
}

// same says whether the target gives what the live server gives, but for noise.
func (l *likeness) same() bool {
	for _, u := range l.unlike {
		if !u.decided || u.now != nil {
			return false
		}
	}
	return l.compared
}

func (l *leg) like(key string) *likeness {
	if l.likes == nil {
		l.likes = map[string]*likeness{}
	}
	if l.likes[key] == nil {
		l.likes[key] = &likeness{key: key, unlike: map[string]*unlike{}}
	}
	return l.likes[key]
}

// answered notes that the live server has answered.
func (s *shadow) answered(st *stream, sub *engine.Subscription) {
	now := time.Now()
	for _, l := range st.legs {
		if l != nil && l.state != left {
			l.like(sub.Key).fresh = true
			l.met = true
			s.compare(l, sub.Key, now)
		}
	}
}

func sideOf(it *engine.Resource) side {
	if it == nil || it.Content == nil {
		return side{}
	}
	return side{it.Content.Facts.Hash, true}
}

// compare holds what a target has given against what the live server has.
func (s *shadow) compare(l *leg, key string, now time.Time) {
	like := l.like(key)
	like.compared = false
	if now.Sub(like.at) < effort*like.took {
		return // at the next beat
	}
	a, b := s.liveType(l.of, key), l.typ(key)
	if a != nil {
		like.typ = a.Type
	}
	switch {
	case a == nil:
		return
	case a.Lost:
		s.once(Noted, "%s: part of it was not recorded, so that %s is not asked before it is known again what the client wants, at its next stream at last",
			l.of, bounded(a.Type))
		return
	case a.Variants:
		s.once(Noted, "%s of %q has variants of one name: it is not compared", bounded(a.Type), bounded(l.of.client))
		return
	case b == nil || a.Responses == 0 && !a.Seeded:
		return
	}
	begun := time.Now()
	like.round++
	like.live, like.given = 0, 0
	for name, it := range a.Have.All() {
		if it.Content == nil || !a.Wants(name) {
			continue // known by name only, or wanted no more
		}
		x, y := sideOf(it), sideOf(b.Have.Get(name))
		if like.live++; y.There {
			like.given++
		}
		if x != y {
			s.differ(l, like, name, it, x, y, now)
		}
	}
	for name, it := range b.Have.All() {
		if a.Wants(name) && a.Have.Get(name) == nil {
			s.differ(l, like, name, nil, side{}, sideOf(it), now)
		}
	}
	for name, u := range like.unlike {
		if u.round != like.round {
			s.heal(like, name, u, a.Wants(name), now)
		}
	}
	like.at, like.took, like.compared = time.Now(), time.Since(begun), true
	s.count(l, like, b)
}

// differ notes that a resource is unlike.
func (s *shadow) differ(l *leg, like *likeness, name string, it *engine.Resource, a, b side, now time.Time) {
	u := like.unlike[name]
	switch {
	case u == nil && s.unlikes >= maxUnlike:
		s.once(Noted, "more than %d resources are unlike at one time: of the others nothing is said", maxUnlike)
		return
	case u == nil:
		s.unlikes++
		u = &unlike{leg: l, a: a, b: b, first: now, since: now}
		like.unlike[name] = u
	case u.a != a || u.b != b:
		u.a, u.b, u.since, u.decided = a, b, now, false
	}
	u.entry, u.round = it, like.round
}

// count enters answers that were compared.
func (s *shadow) count(l *leg, like *likeness, b *engine.Subscription) {
	if l.at.index != 0 || !like.fresh || b.Responses == 0 {
		return
	}
	for _, u := range like.unlike {
		if !u.decided {
			return
		}
	}
	s.sum.Compared++
	like.fresh = false
}

// heal notes that a resource is the same again, or that its client does not want
// it any more.
func (s *shadow) heal(like *likeness, name string, u *unlike, wanted bool, now time.Time) {
	delete(like.unlike, name)
	s.unlikes--
	s.settle(u, wanted, now)
}

// settle ends what a resource differed in. It counts no more if it was only that
// one server had heard of a change before the other.
func (s *shadow) settle(u *unlike, healed bool, now time.Time) {
	u.become(nil)
	for _, d := range u.told {
		if len(d.on) == 0 && healed && now.Sub(u.first) < s.o.Idle && !d.withdrawn {
			s.withdraw(d)
			s.sum.Settled++
			if d.listed {
				s.tell(Event{What: Settled, Difference: d, Text: fmt.Sprintf("%s: both servers give the same after %s", d.what(), now.Sub(u.first).Round(time.Second/100))})
			}
		}
	}
}

// become says that a resource is now this difference; nil: none.
func (u *unlike) become(d *Difference) {
	if u.now == d {
		return
	}
	if u.now != nil {
		if u.now.on[u.leg]--; u.now.on[u.leg] <= 0 {
			delete(u.now.on, u.leg)
		}
	}
	if u.now = d; d == nil {
		return
	}
	d.on[u.leg]++
	if d.Streams = max(d.Streams, len(d.on)); !slices.Contains(u.told, d) {
		u.told = append(u.told, d)
	}
}

// release lets go of what was unlike of a type; what differed stays told.
func (s *shadow) release(l *leg, key string) {
	like, now := l.likes[key], time.Now()
	for name, u := range like.unlike {
		s.giveUp(l, like, name, u, false, now)
		delete(l.likes[key].unlike, name)
		s.unlikes--
		u.become(nil)
	}
}

// beat does what has come due.
func (s *shadow) beat(now time.Time) {
	if !s.live {
		return
	}
	s.admit(now)
	for _, st := range s.streams {
		for _, l := range st.legs {
			if l == nil || l.state != open {
				continue
			}
			for key, a := range l.types {
				sub := s.liveType(st, key)
				if sub == nil {
					continue
				}
				like := l.like(key)
				if !like.compared {
					s.compare(l, key, now)
				}
				s.answer(l, sub, now)
				if l.at.index == 0 && len(like.unlike) > 0 {
					s.judge(l, like, sub, a, now)
				}
			}
		}
	}
	s.reweigh()
	for _, t := range s.targets {
		s.freeze(t, now)
	}
	if now.Sub(s.looked) < time.Second {
		return
	}
	s.looked = now
	for _, t := range s.targets {
		s.slow(t, now)
	}
}

// judge decides on what has been unlike for long enough.
func (s *shadow) judge(l *leg, like *likeness, a *engine.Subscription, on *asked, now time.Time) {
	b := l.typ(a.Key)
	if b == nil {
		return
	}
	wait := patience
	if b.Responses == 0 {
		if wait = s.o.Idle; now.Sub(l.at.answered) > wait {
			return // it hangs, and is not another
		}
	}
	for name, u := range like.unlike {
		if u.decided && !s.again(u) {
			continue
		}
		due := latest(u.since, on.at, l.at.woke).Add(wait)
		if also := latest(u.first.Add(max(wait, restless)), on.at.Add(restless), l.at.woke.Add(wait)); also.Before(due) {
			due = also
		}
		if !now.Before(due) && s.awake(l, due, now) {
			s.decide(l, like, name, u, now)
		}
	}
	s.count(l, like, b)
}

func latest(ts ...time.Time) time.Time { return slices.MaxFunc(ts, time.Time.Compare) }

// again says whether a difference that is only counted is to be decided on anew: there
// is room for it now, or another stream has found what it is.
func (s *shadow) again(u *unlike) bool {
	return u.now != nil && !u.now.listed && (u.now.withdrawn || s.room())
}

// decide says of a resource that is unlike whether that is a difference.
func (s *shadow) decide(l *leg, like *likeness, name string, u *unlike, now time.Time) {
	key := tellKey{typ: like.key, name: name, a: u.a, b: u.b}
	if _, known := s.weighed.Get(key); known {
		u.decided = true
		s.settle(u, true, now)
		return
	}
	counted := s.told[key]
	if counted != nil && (counted.listed || !s.room()) {
		u.decided = true
		u.become(counted)
		return
	}
	if counted == nil && u.decided {
		counted = u.now
	}
	d := &Difference{
		Type: bounded(like.typ), Name: bounded(name), Client: bounded(l.of.client), Stream: uint64(l.of.id), Since: u.since, key: key, on: map[*leg]int{},
	}
	if u.entry != nil {
		d.Seq = u.entry.Seq
	}
	what := s.weigh(l, d, u, now)
	if counted != nil && what != undecided && what != unknown {
		s.withdraw(counted) // this one has its place
	}
	switch what {
	case undecided:
		return
	case nothing:
	case onlyNoise:
		s.sum.Subtract++
	case unknown:
		s.sum.Untold++
		s.once(Noted, "%s %q: not known whether it is noise, since its contents were let go (more than %d MiB of them)", d.Type, d.Name, mostBodies>>20)
	case different:
		s.none(l, like, d)
		u.decided = true
		s.enter(u, d, key)
		return
	}
	s.weighed.Put(key, struct{}{}, 1, maxUnlike)
	u.decided = true
	s.settle(u, true, now)
}

// enter says that a resource is a difference. One that is new is told and listed, or
// counted where there is no room.
func (s *shadow) enter(u *unlike, d *Difference, key tellKey) {
	// The same change of another content is no other difference.
	i := slices.IndexFunc(s.list, func(o *Difference) bool {
		return o.Type == d.Type && o.key.name == d.key.name && o.key.all == d.key.all && o.Got == d.Got && o.Detail == d.Detail
	})
	o, fresh := s.told[d.key], false
	if o != nil && !o.listed && s.room() {
		s.withdraw(o)
	}
	switch {
	case i >= 0:
		d = s.list[i]
	case s.room():
		d.listed, d.Stands, fresh = true, true, true
		s.list = append(s.list, d)
	case o != nil:
		d = o
	default:
		s.once(Noted, "more than %d differences: the others are counted", maxTold)
		s.sum.More++
		d.Got, d.Detail = "", ""
	}
	for _, k := range []tellKey{key, d.key} {
		if s.told[k] == nil && len(s.told) < maxUnlike {
			s.told[k] = d
			d.keys = append(d.keys, k)
		}
	}
	if u.become(d); fresh {
		s.tell(Event{What: Differs, Difference: d, Text: fmt.Sprintf("%s: %s", d.what(), d.Got)})
	}
}

// room says whether another difference can be told and listed.
func (s *shadow) room() bool { return len(s.list) < maxTold }

// withdraw takes back that something is a difference. Its place is free for another.
func (s *shadow) withdraw(d *Difference) {
	if d.withdrawn {
		return
	}
	d.withdrawn, d.Stands = true, false
	for _, k := range d.keys {
		if s.told[k] == d {
			delete(s.told, k)
		}
	}
	if d.keys = nil; !d.listed {
		s.sum.More--
	} else if i := slices.Index(s.list, d); i >= 0 {
		s.list = slices.Delete(s.list, i, i+1)
	}
}

// none makes a difference one of all that the client wants of a type, of which
// the target gives nothing.
func (s *shadow) none(l *leg, like *likeness, d *Difference) {
	const few = 3
	if like.given > 0 || like.live <= few || d.key.b.There {
		return
	}
	d.Name, d.Seq, d.key = "", 0, tellKey{typ: d.key.typ, all: true}
	d.Got = fmt.Sprintf("%s gives none of the %d %s resources", l.at.Name, like.live, d.Type)
	if a := l.types[like.key]; a != nil && a.bad > 0 {
		d.Got += fmt.Sprintf("; %d that it sent do not decode as such", a.bad)
	}
}

// what is the resource, and a client that has it.
func (d *Difference) what() string {
	if d.key.all {
		return fmt.Sprintf("%s of %q", d.Type, d.Client)
	}
	return fmt.Sprintf("%s %q of %q", d.Type, d.Name, d.Client)
}
