package shadow

import (
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/standin"
)

// Two instances of one version do not say the same in every field: one has a
// timestamp, another a name of its own. A field in which the second instance has
// ever differed from the live server is noise, in every resource of its type and
// with all that is within it; and so is a resource that the second instance has
// as the target has it. It is the field that is subtracted, not the resource: what
// differs elsewhere in it is a difference.

// maxNoise is how many fields are remembered.
const maxNoise = 10000

type weight uint8

const (
	undecided weight = iota // the second instance has not answered yet
	nothing                 // they mean the same: only masks differ
	onlyNoise
	unknown // the contents were let go
	different
)

// weigh says what a resource is that is unlike, and completes the difference.
func (s *shadow) weigh(l *leg, d *Difference, u *unlike, now time.Time) weight {
	a, hasA := s.bodies.get(d.key.a)
	b, hasB := s.bodies.get(d.key.b)
	name := l.at.Name
	switch {
	case !d.key.b.There:
		d.Got = name + " does not give it"
	case !d.key.a.There:
		d.Got = name + " gives it, and the live server does not"
	case !hasA || !hasB:
		d.Got = name + " gives another content; in which fields is not known, since contents were let go"
	default:
		d.Got = name + " gives another content"
	}
	if len(s.targets) > 1 {
		c, answered := s.second(l.of, d, u.since.Add(patience), now)
		switch {
		case !answered:
			if now.Sub(u.first) < s.o.Idle && !s.final {
				return undecided
			}
			d.Got += "; what is noise is not known, since " + s.targets[1].Name + " does not answer"
		case c == d.key.b:
			s.learn(d.Type, a, b, hasA && hasB)
			return onlyNoise
		case c != d.key.a:
			body, has := s.bodies.get(c)
			s.learn(d.Type, a, body, hasA && has)
			if d.key.a.There && d.key.b.There && c.There && !(hasA && hasB && has) {
				return unknown
			}
		}
	}
	if !hasA || !hasB {
		return different // as far as that is known
	}
	return s.detail(d, a, b)
}

// detail says in which fields a resource differs, but for noise.
func (s *shadow) detail(d *Difference, a, b body) weight {
	d.weighed = len(s.noise)
	// What the recording has masked is no difference, and no secret is shown: not
	// those that it shows either, if it was told to.
	like := standin.LikeRecorded(b.typeURL, a.data, b.data)
	like, own := standin.MaskedResource(s.masker, b.typeURL, like), standin.MaskedResource(s.masker, a.typeURL, a.data)
	passed := false
	text, same := replay.Changes(s.o.Types, a.typeURL, own, b.typeURL, like, func(p diff.Path) bool {
		is := s.noisy(d.Type, p)
		passed = passed || is
		return is
	})
	switch {
	case same && passed:
		return onlyNoise
	case same:
		return nothing
	}
	d.Detail = text
	return different
}

// reweigh withdraws differences that have turned out to be noise.
func (s *shadow) reweigh() {
	for _, d := range slices.Clone(s.list) {
		if d.Detail == "" || d.weighed == len(s.noise) {
			continue
		}
		a, hasA := s.bodies.get(d.key.a)
		b, hasB := s.bodies.get(d.key.b)
		if d.weighed = len(s.noise); hasA && hasB && s.detail(d, a, b) == onlyNoise {
			s.withdraw(d)
			s.sum.Subtract++
			s.weighed.Put(d.key, struct{}{}, 1, maxUnlike)
			s.tell(Event{What: Settled, Difference: d, Text: d.what() + ": it is noise"})
		}
	}
}

// second is what the second instance gives of a resource; false: it has not
// answered, or gives no sign of life since it had to know.
func (s *shadow) second(st *stream, d *Difference, when, now time.Time) (side, bool) {
	l := st.legs[1]
	if l == nil {
		return side{}, false
	}
	sub := l.typ(d.key.typ)
	if sub == nil || sub.Responses == 0 || !s.awake(l, when, now) {
		return side{}, false
	}
	return sideOf(sub.Have.Get(d.key.name)), true
}

// learn remembers in which fields two instances of one version differ.
func (s *shadow) learn(typ string, a, b body, known bool) {
	if !known {
		return
	}
	like := standin.LikeRecorded(b.typeURL, a.data, b.data)
	replay.Changes(s.o.Types, a.typeURL, a.data, b.typeURL, like, func(p diff.Path) bool {
		if len(s.noise) < maxNoise && !s.noisy(typ, p) {
			f := field(typ, p)
			s.noise[f] = true
			s.event(Noise, "%s is noise: %s and the live server differ in it", bounded(f), s.targets[1].Name)
		}
		return true
	})
}

// noisy says whether a field is noise, or within one that is.
func (s *shadow) noisy(typ string, p diff.Path) bool {
	if len(s.noise) == 0 {
		return false
	}
	for i := range p {
		if s.noise[field(typ, p[:i+1])] {
			return true
		}
	}
	return false
}

// field is a path in any resource of a type, and any item of a list.
func field(typ string, p diff.Path) string {
	var b strings.Builder
	b.WriteString(typ + " ")
	for i := range p {
		switch {
		case p[i].Item():
			b.WriteString("[]")
		case i > 0:
			b.WriteString("." + p[i].Name)
		default:
			b.WriteString(p[i].Name)
		}
	}
	return b.String()
}
