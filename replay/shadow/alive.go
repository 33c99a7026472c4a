package shadow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A server that has nothing to give is as silent as one whose process is frozen.
// So before a silence is held against a target, it is asked for its health: any
// answer, also that it does not know the question, is a sign of life. This is a
// question for the case of doubt and not the keepalive of HTTP/2, since servers
// end connections that are pinged more often than every five minutes.
const (
	health = "/grpc.health.v1.Health/Check"
	// hanging is for how long it has to be silent to be called so.
	hanging = 3 * time.Second
	// between is how long a target is left alone after a sign of life.
	between = patience / 4
)

// sign is how a target took a question for a sign of life.
type sign struct {
	at    *target
	alive bool
}

// awake says whether a target has given a sign of life that it was asked for at
// that time or later. If not, it is asked.
func (s *shadow) awake(l *leg, when, now time.Time) bool {
	t := l.at
	if !t.alive.Before(when) {
		return true
	}
	cc := t.links[l.of.conn]
	if l.state != open || cc == nil || !t.asked.IsZero() || now.Sub(t.alive) < between {
		return false
	}
	t.asked = now
	s.legs.Go(func() {
		var none, answer []byte
		var header, trailer metadata.MD
		err := cc.Invoke(metadata.NewOutgoingContext(s.ctx, l.of.md), health, &none, &answer, grpc.Header(&header), grpc.Trailer(&trailer))
		code := status.Code(err)
		alive := code != codes.Canceled && code != codes.DeadlineExceeded && code != codes.Unavailable || len(header)+len(trailer) > 0
		select {
		case s.signs <- sign{t, alive}:
		case <-s.ctx.Done():
		}
	})
	return false
}

// signed takes a sign of life.
func (s *shadow) signed(g sign, now time.Time) {
	t := g.at
	asked := t.asked
	if t.asked = (time.Time{}); !g.alive {
		return
	}
	if t.alive = asked; now.Sub(asked) > patience {
		t.woke = now
	}
	if t.frozen {
		t.frozen, t.hangs = false, false
		s.back(t, now)
	}
}

// freeze tells of a target that gives no sign of life.
func (s *shadow) freeze(t *target, now time.Time) {
	if t.asked.IsZero() || t.frozen || now.Sub(t.asked) < hanging {
		return
	}
	t.frozen, t.hangs = true, true
	s.trouble(t, "hangs", fmt.Sprintf("it has not answered for %s, and what it has not given is held back", now.Sub(t.asked).Round(time.Second/10)))
}

// pending are resources on which nothing was decided, by type and reason.
type pending map[[2]string][]string

func (p pending) add(typ, name, why string) {
	key := [2]string{typ, why}
	if list := p[key]; len(list) < maxTold && !slices.Contains(list, name) {
		p[key] = append(list, name)
	}
}

func (p pending) list() (out []string) {
	const most = 3
	for key, names := range p {
		slices.Sort(names)
		var shown []string
		for _, n := range names[:min(len(names), most)] {
			shown = append(shown, strconv.Quote(bounded(n)))
		}
		text := bounded(key[0]) + " " + strings.Join(shown, ", ")
		switch more := len(names) - most; {
		case len(names) == maxTold: // what came after these was not kept
			text += fmt.Sprintf(" and at least %d more", more)
		case more > 0:
			text += fmt.Sprintf(" and %d more", more)
		}
		out = append(out, text+": not decided, since "+key[1])
	}
	slices.Sort(out)
	return out
}

// giveUp decides on what is unlike and will not be looked at again, as far as
// that is known. The end of all is also that of what is unlike for a moment only.
func (s *shadow) giveUp(l *leg, like *likeness, name string, u *unlike, end bool, now time.Time) {
	due := u.since.Add(patience)
	if u.decided || l.at.index != 0 || !end && now.Before(due) {
		return
	}
	b := l.typ(like.key)
	var why string
	switch {
	case l.failed:
		why = l.at.Name + " was away"
	case l.at.frozen, b == nil || b.Responses == 0:
		why = l.at.Name + " did not answer"
	case !now.Before(due) && !l.at.alive.Before(due):
		s.final = true
		s.decide(l, like, name, u, now)
		s.final = false
		return
	case !now.Before(due):
		why = "it is not known whether " + l.at.Name + " would still have answered"
	default:
		why = "the last change came less than half a second before"
	}
	s.pending.add(like.typ, name, why)
}

// undecided says whether something is pending.
func (s *shadow) undecided() bool {
	for _, st := range s.streams {
		l := st.legs[0]
		if l == nil || l.state == left {
			continue
		}
		for _, like := range l.likes {
			for _, u := range like.unlike {
				if !u.decided {
					return true
				}
			}
		}
	}
	return false
}

// conclude decides on what is pending at the end.
func (s *shadow) conclude(now time.Time) {
	for _, st := range s.streams {
		l := st.legs[0]
		if l == nil || l.state == left {
			continue
		}
		for _, like := range l.likes {
			for name, u := range like.unlike {
				s.giveUp(l, like, name, u, true, now)
			}
			if l.failed && like.fresh && len(like.unlike) == 0 && like.typ != "" {
				s.pending.add(like.typ, "all of "+st.client, l.at.Name+" was away")
			}
		}
	}
	s.sum.Undecided = s.pending.list()
}
