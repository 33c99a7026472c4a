package aftermath

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

func (m *Memory) seqs(h *history) (out []session.Seq) {
	for r := range m.replaced.of(h) {
		out = append(out, r.by)
	}
	return out
}

// What one client's resources were is told of that client, the last first. However
// many clients and resources there are, what is remembered of them has a bound,
// and what was forgotten is not told.
func TestReplacementsAreBounded(t *testing.T) {
	var m Memory
	var a, b, busy history
	m.replaced.add(&a, replacement{by: 7})
	m.replaced.add(&b, replacement{by: 8})
	m.replaced.add(&a, replacement{by: 9})
	if got := m.seqs(&a); !slices.Equal(got, []session.Seq{9, 7}) {
		t.Errorf("a client's are %v", got)
	}
	for i := range 3 * mostReplaced {
		m.replaced.add(&busy, replacement{by: session.Seq(i)})
		switch i {
		case mostReplaced - 4:
			if got := m.seqs(&a); !slices.Equal(got, []session.Seq{9, 7}) {
				t.Errorf("where there is just room for all, a client's are %v", got)
			}
		case mostReplaced - 3, mostReplaced - 2:
			if got := m.seqs(&a); !slices.Equal(got, []session.Seq{9}) {
				t.Errorf("where one was overwritten, a client's are %v", got)
			}
		}
	}
	if len(m.replaced.ring) != mostReplaced {
		t.Errorf("%d are remembered", len(m.replaced.ring))
	}
	if got := m.seqs(&a); got != nil {
		t.Errorf("%v must have been overwritten", got)
	}
	got := m.seqs(&busy)
	if len(got) != mostOfOne || got[0] != 3*mostReplaced-1 || got[1] != 3*mostReplaced-2 {
		t.Errorf("of a busy client there are %d, from %v on", len(got), got[:2])
	}
}

// Who comes again finds what was remembered, also where many others came since and
// only looked it up at the beginning. What nobody holds is forgotten.
func TestMemoriesAreBounded(t *testing.T) {
	var m memories[history]
	const most = 64
	key := func(k uint64) func() uint64 { return func() uint64 { return k } }
	var stays, lost held[history]
	m.of(&stays, most, key(1)).last = 5
	m.of(&lost, most, key(2)).last = 6
	for i := range uint64(10 * most) {
		var h held[history]
		if v := m.of(&h, most, key(10+i)); v.last != 0 {
			t.Fatalf("something is remembered of who is new: %d", v.last)
		}
		if v := m.of(&stays, most, key(1)); v.last != 5 {
			t.Fatalf("what is in use was forgotten after %d others", i+1)
		}
		if m.by.Cost() > most+1 {
			t.Fatalf("%d are remembered", m.by.Cost())
		}
	}
	for k, want := range map[uint64]uint64{1: 5, 2: 0} {
		var again held[history]
		if v := m.of(&again, most, key(k)); v.last != want {
			t.Errorf("of %d there is %d, want %d", k, v.last, want)
		}
	}
}

// What is told apart by several words is not the same as what they say together.
func TestKeys(t *testing.T) {
	var m Memory
	same := m.key("a", "bc")
	if same == m.key("ab", "c") || same != m.key("a", "bc") {
		t.Error("keys do not tell words apart")
	}
}

// What somebody holds is asked for anew once a fourth of what there is room for was
// asked for by others.
func TestHeldIsAskedForAnew(t *testing.T) {
	var m memories[history]
	const most = 64
	var h held[history]
	ask := func() uint64 { m.of(&h, most, func() uint64 { return 1 }); return m.asked }
	before := ask()
	if m.asked += most/4 - 1; ask() != before+most/4-1 {
		t.Error("it was asked for too early")
	}
	if m.asked++; ask() != before+most/4+1 {
		t.Error("it was not asked for")
	}
}
