package shadow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// compared is a shadow whose target has answered a client, and a beat of it.
func compared(t *testing.T) (s *shadow, l *leg, like *likeness, told *[]string, beat func(time.Time)) {
	s, told = newShadow(t)
	s.o.Idle = time.Hour
	s.asks(1, "n")
	b := s.targets[0]
	l = &leg{at: b, of: s.streams[1], state: open, id: 1}
	data := response("1", "a")
	b.step(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: streamClusters})
	b.step(&session.Entry{Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Server, Message: &session.Message{
		Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data)),
	}})
	b.alive = time.Now().Add(time.Hour)
	like = l.like(xds.TypeKey(clusters))
	like.typ = "CDS"
	sub := s.liveType(l.of, like.key)
	return s, l, like, told, func(now time.Time) { s.judge(l, like, sub, &asked{}, now) }
}

// missing lets the target not give a resource.
func (s *shadow) missing(l *leg, like *likeness, name string, now time.Time) {
	s.differ(l, like, name, nil, side{Hash: [16]byte([]byte(fmt.Sprintf("%16s", name))), There: true}, side{}, now)
}

// Differences that settle leave nothing behind, however many: a real one after them is
// told and listed.
func TestSettledOnesMakeRoom(t *testing.T) {
	s, l, like, told, beat := compared(t)
	now := time.Now()
	for i := range 2*maxTold + 1 {
		name := fmt.Sprint("transient-", i)
		s.missing(l, like, name, now)
		now = now.Add(2 * patience)
		beat(now)
		s.heal(like, name, like.unlike[name], true, now)
	}
	if got := s.summary(); got.Different() || got.Settled != 2*maxTold+1 || len(s.list)+len(s.told) > 0 {
		t.Errorf("%s; %d are listed, %d known", got, len(s.list), len(s.told))
	}
	*told = nil
	s.missing(l, like, "real", now)
	beat(now.Add(2 * patience))
	got := s.summary()
	if len(got.Differences) != 1 || got.More > 0 || !got.Differences[0].Stands || len(*told) != 1 || !strings.Contains((*told)[0], `"real"`) {
		t.Errorf("%s; told is %q", got, *told)
	}
}

// What is beyond those that are listed is counted once for all streams, is no more when it
// settles, and is told and listed when one that is listed settles.
func TestCountedOnes(t *testing.T) {
	s, l, like, told, beat := compared(t)
	now := time.Now()
	for i := range maxTold {
		s.missing(l, like, fmt.Sprint("listed-", i), now)
	}
	now = now.Add(2 * patience)
	beat(now)
	*told = nil
	other := &likeness{key: like.key, typ: like.typ, unlike: map[string]*unlike{}}
	of := &leg{at: l.at, of: l.of, state: open, id: 1}
	for _, name := range []string{"x", "y"} {
		for on, in := range map[*leg]*likeness{l: like, of: other} {
			s.missing(on, in, name, now)
			s.decide(on, in, name, in.unlike[name], now)
		}
	}
	if s.sum.More != 2 || len(s.list) != maxTold || s.weighed.Cost() > 0 || strings.Join(*told, "\n") != "more than 1000 differences: the others are counted" {
		t.Errorf("%d are counted, %d listed; %d are none; told is %q", s.sum.More, len(s.list), s.weighed.Cost(), *told)
	}
	*told = nil
	for more, in := range []*likeness{other, like} {
		s.heal(in, "x", in.unlike["x"], true, now)
		if s.sum.More != 2-more || len(*told) > 0 {
			t.Errorf("on %d of two streams it settled: %d are counted, told is %q", more+1, s.sum.More, *told)
		}
	}
	beat(now.Add(time.Second))
	s.heal(like, "listed-7", like.unlike["listed-7"], true, now)
	beat(now.Add(time.Second))
	s.decide(of, other, "y", other.unlike["y"], now)
	got := s.summary()
	if last := s.list[maxTold-1]; got.More != 0 || len(got.Differences) != maxTold || last.Name != "y" || last.Streams != 2 || len(s.told) != maxTold {
		t.Errorf("%s; %d are known, the last is %+v", got, len(s.told), last)
	}
	if all := strings.Join(*told, "\n"); len(*told) != 2 || !strings.Contains(all, `"listed-7" of "n": both servers give the same`) || !strings.Contains(all, `"y" of "n": B does not give it`) {
		t.Errorf("told is %q", *told)
	}
}
