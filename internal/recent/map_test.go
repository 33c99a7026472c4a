package recent

import "testing"

// What is used stays, what is not goes, and all together never costs more than
// the limit.
func TestMapForgetsWhatIsNotUsed(t *testing.T) {
	var m Map[int, string]
	const limit = 400
	for i := range 10_000 {
		m.Put(i, "x", 10, limit)
		if _, ok := m.Get(0); !ok {
			t.Fatalf("what is used all the time is forgotten after %d", i)
		}
		if i >= 10 {
			if _, ok := m.parts[0][i]; !ok {
				t.Fatalf("%d is forgotten at once", i)
			}
		}
		if m.Cost() > limit+10 {
			t.Fatalf("it costs %d", m.Cost())
		}
	}
	if _, ok := m.Get(5); ok {
		t.Error("what was not used for long is there")
	}
	m.Put(9_999, "y", 20, limit)
	if v, _ := m.Get(9_999); v != "y" {
		t.Errorf("a value that is put again is %q", v)
	}
}

// As much as the limit is held, and where one more comes only the oldest quarter goes.
func TestMapIsFilled(t *testing.T) {
	var m Map[int, string]
	const limit, cost = 400, 10
	for i := range limit / cost {
		m.Put(i, "x", cost, limit)
		if want := int64(i+1) * cost; m.Cost() != want {
			t.Fatalf("after %d it costs %d, want %d", i+1, m.Cost(), want)
		}
	}
	m.Put(limit/cost, "x", cost, limit)
	if want := int64(limit - limit/generations + cost); m.Cost() != want {
		t.Errorf("after one more it costs %d, want %d", m.Cost(), want)
	}
	const first = limit / cost / generations // that is left
	for i := range limit/cost + 1 {
		if _, ok := m.Get(i); ok != (i >= first) {
			t.Errorf("%d is there: %v", i, ok)
		}
	}
	if want := int64(limit - limit/generations + cost); m.Cost() != want {
		t.Errorf("after each was used it costs %d, want %d", m.Cost(), want)
	}
}
