package source

import (
	"fmt"
	"slices"
	"testing"
)

// What is said is taken once, in order, and of too much the newest stay.
func TestNotices(t *testing.T) {
	var none *Notices
	if got := none.Take(); got != nil {
		t.Errorf("%q", got)
	}
	n := &Notices{}
	n.Add("a")
	n.Add("b")
	if got := n.Take(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
	if got := n.Take(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for i := range maxNotices + 2 {
		n.Add(fmt.Sprint(i))
	}
	if got := n.Take(); len(got) != maxNotices || got[0] != "2" || got[maxNotices-1] != fmt.Sprint(maxNotices+1) {
		t.Errorf("%d, from %s", len(got), got[0])
	}
}
