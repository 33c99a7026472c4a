package shadow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// What differs for less than the time that a target has was a change on its way. With that
// time it stays a difference.
func TestSettledInTime(t *testing.T) {
	for after, settled := range map[time.Duration]int{time.Hour - 1: 1, time.Hour: 0} {
		s, l, like, _, beat := compared(t)
		began := time.Now()
		s.missing(l, like, "a-resource", began)
		beat(began.Add(2 * patience))
		s.heal(like, "a-resource", like.unlike["a-resource"], true, began.Add(after))
		if s.sum.Settled != settled || len(s.list) != 1-settled {
			t.Errorf("after %v: %d settled, %d differ; want %d, %d", after, s.sum.Settled, len(s.list), settled, 1-settled)
		}
	}
}

// So many differences are known by what they are. Those beyond are counted all the same.
func TestDifferencesThatAreKnown(t *testing.T) {
	s, _ := newShadow(t)
	for i := range maxUnlike - 1 {
		s.told[tellKey{name: fmt.Sprint(i)}] = &Difference{}
	}
	l := &leg{at: s.targets[0], of: &stream{id: 1}}
	for _, name := range []string{"x", "y"} {
		s.decide(l, &likeness{key: "k", typ: "CDS"}, name, &unlike{leg: l, a: side{There: true}}, time.Now())
		if len(s.told) != maxUnlike {
			t.Errorf("with %s: %d are known", name, len(s.told))
		}
	}
	if len(s.list) != 2 || len(s.list[0].keys) != 1 || len(s.list[1].keys) != 0 {
		t.Errorf("%d are listed", len(s.list))
	}
}

// Resources are named as long as they are few. If none of more is given, that is one
// difference.
func TestNoneOfAType(t *testing.T) {
	for _, c := range []struct {
		live, given int
		there       bool
		want        string
	}{
		{3, 0, false, ""},
		{4, 0, false, "B gives none of the 4 CDS resources"},
		{4, 1, false, ""},
		{4, 0, true, ""},
	} {
		s, _ := newShadow(t)
		d := &Difference{Type: "CDS", Name: "a", key: tellKey{typ: "CDS", name: "a", b: side{There: c.there}}}
		s.none(&leg{at: s.targets[0]}, &likeness{live: c.live, given: c.given}, d)
		if d.Got != c.want || d.key.all != (c.want != "") || (d.Name == "") != d.key.all {
			t.Errorf("%+v: %q, %+v", c, d.Got, d.key)
		}
	}
	s, _ := newShadow(t)
	for bad, want := range []string{"B gives none of the 9 CDS resources", "B gives none of the 9 CDS resources; 1 that it sent do not decode as such"} {
		d := &Difference{Type: "CDS", key: tellKey{typ: "CDS"}}
		s.none(&leg{at: s.targets[0], types: map[string]*asked{"k": {bad: bad}}}, &likeness{key: "k", live: 9}, d)
		if d.Got != want {
			t.Errorf("%q, want %q", d.Got, want)
		}
	}
}

// A stream that has no answer is waited for so long, and then another is opened.
func TestOpeningForSoLong(t *testing.T) {
	now := time.Now()
	for after, waited := range map[time.Duration]bool{time.Minute: true, time.Minute + 1: false} {
		s, _ := newShadow(t)
		s.o.Idle = time.Minute
		b := s.targets[0]
		b.opening = []*leg{{state: open, begun: now}, {state: open, begun: now.Add(time.Hour), heard: true}, {state: left, begun: now.Add(time.Hour)}}
		s.admit(now.Add(after))
		if (len(b.opening) == 1) != waited || len(b.opening) > 1 {
			t.Errorf("after %v: %d are waited for", after, len(b.opening))
		}
	}
}

// Entries of what a target says are numbered one after the other.
func TestStepsOfATarget(t *testing.T) {
	b := newTarget(Target{}, 0)
	for want := session.Seq(1); want < 4; want++ {
		e := session.Entry{Kind: session.KindTime}
		if b.step(&e); e.Seq != want {
			t.Errorf("%d, want %d", e.Seq, want)
		}
	}
}

// So many troubles of a target are told until it is well, each of them once.
func TestTroublesOfATarget(t *testing.T) {
	const most = 20
	s, told := newShadow(t)
	b := s.targets[0]
	for i := range most + 2 {
		for range 2 {
			s.trouble(b, fmt.Sprint(i), fmt.Sprintf("trouble %d", i))
		}
	}
	if len(*told) != most || (*told)[most-1] != "B: trouble 19; the shadow goes on trying" {
		t.Errorf("%d are told: %q", len(*told), *told)
	}
	s.back(b, time.Now())
	if len(*told) != most+1 || !strings.HasPrefix((*told)[most], "B answers again after ") || len(b.troubles) > 0 {
		t.Errorf("%q", *told)
	}
	s.trouble(b, "0", "again")
	if len(*told) != most+2 {
		t.Errorf("after it was well: %q", *told)
	}
}

// A target is failing as long as one of its streams has ended and not come back.
func TestFailingStreams(t *testing.T) {
	s, told := newShadow(t)
	s.asks(1, "n")
	b := s.targets[0]
	var legs []*leg
	for id := range session.StreamID(2) {
		legs = append(legs, &leg{at: b, of: s.streams[1], state: open, id: id + 1, cancel: func() {}})
	}
	for i, want := range []int{1, 1, 2} {
		if s.fail(legs[max(0, i-1)], errors.New("broken")); b.failing != want || legs[0].state != waiting || legs[0].tries != min(i+1, 2) {
			t.Errorf("%d streams are failing, want %d", b.failing, want)
		}
	}
	for i, l := range []*leg{legs[0], legs[0], legs[1]} {
		if s.well(l, time.Now()); b.failing != []int{1, 1, 0}[i] || l.failed || l.tries != 0 {
			t.Errorf("%d streams are failing", b.failing)
		}
		if back := strings.Contains(strings.Join(*told, "\n"), "B answers again"); back != (b.failing == 0) {
			t.Errorf("with %d failing streams it answers again: %v", b.failing, back)
		}
	}
}

// Resources without a name, or of another type, are counted as those that do not decode.
func TestResourcesThatAreNone(t *testing.T) {
	other := lenField(resourcesOfResponse, append(lenField(1, []byte("type.googleapis.com/envoy.config.listener.v3.Listener")), lenField(2, lenField(1, []byte("l")))...))
	for _, c := range []struct {
		name string
		data []byte
		bad  int
	}{
		{"named", response("1", "a", "b"), 0},
		{"one without a name", response("1", "a", ""), 1},
		{"one of another type", append(response("1", "a"), other...), 1},
	} {
		s, _ := newShadow(t)
		b := s.targets[0]
		a := &asked{bad: 7}
		l := &leg{at: b, of: &stream{id: 9}, state: open, id: 1, types: map[string]*asked{xds.TypeKey(clusters): a}}
		b.step(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: streamClusters})
		if s.hear(heard{leg: l, id: 1, data: c.data}); a.bad != c.bad {
			t.Errorf("%s: %d, want %d", c.name, a.bad, c.bad)
		}
	}
}

// Of what is not decided three are named by type and reason, and the others counted, as
// far as they are kept.
func TestWhatIsNotDecided(t *testing.T) {
	for n, want := range map[int]string{
		1:           `CDS "0000": not decided, since B was away`,
		3:           `CDS "0000", "0001", "0002": not decided, since B was away`,
		4:           `CDS "0000", "0001", "0002" and 1 more: not decided, since B was away`,
		maxTold - 1: `CDS "0000", "0001", "0002" and 996 more: not decided, since B was away`,
		maxTold:     `CDS "0000", "0001", "0002" and at least 997 more: not decided, since B was away`,
		maxTold + 1: `CDS "0000", "0001", "0002" and at least 997 more: not decided, since B was away`,
	} {
		p := pending{}
		for i := range n {
			for range 2 {
				p.add("CDS", fmt.Sprintf("%04d", i), "B was away")
			}
		}
		if d := cmp.Diff([]string{want}, p.list()); d != "" {
			t.Errorf("%d: %s", n, d)
		}
	}
}

// Of a type that a target that is away was never heard of, all is not decided.
func TestNeverHeardOf(t *testing.T) {
	for _, c := range []struct {
		name   string
		failed bool
		like   likeness
		state  state
		want   []string
	}{
		{"away", true, likeness{typ: "CDS", fresh: true}, open, []string{`CDS "all of n": not decided, since B was away`}},
		{"there", false, likeness{typ: "CDS", fresh: true}, open, nil},
		{"heard of", true, likeness{typ: "CDS"}, open, nil},
		{"of no type", true, likeness{fresh: true}, open, nil},
		{"its client left", true, likeness{typ: "CDS", fresh: true}, left, nil},
	} {
		s, _ := newShadow(t)
		s.asks(1, "n")
		l := &leg{at: s.targets[0], of: s.streams[1], state: c.state, failed: c.failed, likes: map[string]*likeness{"k": &c.like}}
		s.streams[1].client, s.streams[1].legs = "n", []*leg{l}
		if s.conclude(time.Now()); !slices.Equal(s.sum.Undecided, c.want) {
			t.Errorf("%s: %q, want %q", c.name, s.sum.Undecided, c.want)
		}
	}
}

// A sign of life that came late, or not at all.
func TestLateSigns(t *testing.T) {
	asked := time.Now()
	for _, c := range []struct {
		after time.Duration
		woke  bool
	}{{patience, false}, {patience + 1, true}} {
		s, _ := newShadow(t)
		b := s.targets[0]
		b.asked = asked
		if s.signed(sign{at: b, alive: true}, asked.Add(c.after)); !b.alive.Equal(asked) || b.woke.IsZero() == c.woke || !b.asked.IsZero() {
			t.Errorf("after %v: alive at %v, woke at %v", c.after, b.alive.Sub(asked), b.woke)
		}
	}
	for after, frozen := range map[time.Duration]bool{hanging - 1: false, hanging: true} {
		s, told := newShadow(t)
		b := s.targets[0]
		b.asked = asked
		if s.freeze(b, asked.Add(after)); b.frozen != frozen || len(*told) == 1 != frozen {
			t.Errorf("after %v: frozen %v, %q", after, b.frozen, *told)
		}
	}
}
