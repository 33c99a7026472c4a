package key

import (
	"slices"
	"testing"
)

// A key does one thing, an action is there once, and each says what it does.
func TestKeys(t *testing.T) {
	keys, acts := map[string]Action{}, map[Action]bool{}
	for _, b := range All() {
		if acts[b.Act] || b.Act == "" || b.Help == "" || len(b.Keys) == 0 {
			t.Errorf("%+v", b)
		}
		acts[b.Act] = true
		for _, k := range b.Keys {
			if other := keys[k]; other != "" {
				t.Errorf("%s is the key of %s and of %s", k, other, b.Act)
			}
			keys[k] = b.Act
			if Of(k) != b.Act {
				t.Errorf("%s does %q, not %s", k, Of(k), b.Act)
			}
		}
		if got := BindingOf(b.Act); got.Help != b.Help {
			t.Errorf("%s is %+v", b.Act, got)
		}
	}
	if Of("F13") != "" || BindingOf("nothing").Act != "" || In(nil, Up).Act != "" {
		t.Error("what is not there does something")
	}
	for _, of := range [][]Action{Views(), Global(), Moves()} {
		for i, a := range of {
			if !acts[a] || slices.Contains(of[:i], a) {
				t.Errorf("%s has no key, or is there twice", a)
			}
		}
	}
	for i, a := range Views() {
		if got := BindingOf(a).Keys; len(got) != 1 || got[0] != string(rune('1'+i)) {
			t.Errorf("view %d has the keys %v", i+1, got)
		}
	}
	if n := len(Views()); len(Global()) != n+16 || len(Moves()) != 8 {
		t.Errorf("%d work everywhere, %d move", len(Global()), len(Moves()))
	}
	offers := WithMoves([]Offer{{Act: Open, Hint: "x"}})
	if len(offers) != 1+len(Moves()) || offers[0].Hint != "x" || offers[1].Act != Moves()[0] || offers[1].Hint != "" {
		t.Errorf("%+v", offers)
	}
}
