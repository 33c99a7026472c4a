package engine

import "testing"

// A client may ask for one type on two streams. The worse state is told, with the
// newest rejection of either, and what both have counts together.
func TestStatusOfTwoStreams(t *testing.T) {
	synced := TypeStatus{Type: "CDS", State: Synced, Wanted: 2, Have: 2, Nacks: 1, Nack: "newer", NackSeq: 90, None: true}
	stale := TypeStatus{Type: "CDS", State: Stale, Wanted: 3, Have: 1, Nacks: 2, Nack: "older", NackSeq: 40, Lost: true}
	want := TypeStatus{Type: "CDS", State: Stale, Wanted: 5, Have: 3, Nacks: 3, Nack: "newer", NackSeq: 90, Lost: true}
	for _, pair := range [][2]TypeStatus{{synced, stale}, {stale, synced}} {
		if got := merge(pair[0], pair[1]); got != want {
			t.Errorf("%s and %s\n got %+v\nwant %+v", pair[0].State, pair[1].State, got, want)
		}
	}
	for _, state := range []State{Nacked, Synced, NotAsked} {
		all := TypeStatus{Type: "CDS", State: state, Wanted: Everything}
		if got := merge(synced, all); got.Wanted != Everything {
			t.Errorf("of all, %s, and 2 names %d are wanted", state, got.Wanted)
		}
	}
}
