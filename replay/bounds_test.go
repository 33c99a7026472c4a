package replay

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
)

// A plan has so many notes.
func TestNotesOfAPlan(t *testing.T) {
	p := &planner{plan: &Plan{}}
	for i := range maxNotes + 1 {
		p.note("%d", i)
	}
	if n := p.plan.Notes; len(n) != maxNotes || n[maxNotes-1] != fmt.Sprint(maxNotes-1) {
		t.Errorf("%d notes", len(n))
	}
}

// So many messages of a recording are played. That there are more is said once, and from
// which entry on.
func TestMessagesOfAPlan(t *testing.T) {
	p := &planner{plan: &Plan{}, steps: maxSteps - 1}
	if !p.room(7) || p.cut || len(p.plan.Notes) != 0 {
		t.Errorf("there is no room for the last one: %q", p.plan.Notes)
	}
	p.steps = maxSteps
	want := []string{fmt.Sprintf("the recording has more than %d messages: those after entry 7 are not played", maxSteps)}
	for again := range 2 {
		if p.room(8) || !p.cut || !slices.Equal(p.plan.Notes, want) {
			t.Errorf("%d: there is room, or it is said %q", again, p.plan.Notes)
		}
	}
}

// The names of a plan take so many bytes. With more it cannot be played. Those that were
// kept are found without a place of their own.
func TestNamesOfAPlan(t *testing.T) {
	const size = 2*16 + 2
	p := &planner{seed: maphash.MakeSeed(), lists: map[uint64][]string{}, names: maxNameBytes - size}
	for range 2 {
		if got := p.keep([]string{"a", "b"}); !slices.Equal(got, []string{"a", "b"}) || p.full != nil || p.names != maxNameBytes {
			t.Errorf("%q is kept, %d bytes, %v", got, p.names, p.full)
		}
	}
	p = &planner{seed: p.seed, lists: map[uint64][]string{}, names: maxNameBytes - size + 1}
	if got := p.keep([]string{"a", "b"}); got != nil || p.full == nil || !strings.Contains(p.full.Error(), "more than 256 MiB of different names") {
		t.Errorf("%q is kept, %v", got, p.full)
	}
}
