package check

import (
	"fmt"
	"testing"
	"time"
)

func TestLeases(t *testing.T) {
	var l leases
	start := time.Unix(1e9, 0)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Second) }
	for i := range maxLeases + 10 {
		l.set(lease{name: fmt.Sprint(i), until: at(maxLeases - i)})
	}
	if len(l.byName) != maxLeases || !l.first().Equal(at(1)) {
		t.Fatalf("%d leases, the first until %v", len(l.byName), l.first())
	}
	l.set(lease{name: "0", until: at(-1)}) // from the end to the front
	l.set(lease{name: "2", until: at(7)})  // together with another
	delete(l.byName, fmt.Sprint(maxLeases-1))
	if !l.first().Equal(at(-1)) {
		t.Fatalf("the first ends at %v", l.first())
	}
	if over := l.ended(at(-2)); len(over) != 0 {
		t.Fatalf("%v ended too early", over)
	}
	var last lease
	for n, e := range l.ended(at(maxLeases)) {
		if n == 0 && e.name != "0" || e.until.Before(last.until) || e.until.Equal(last.until) && e.name <= last.name || e.name == fmt.Sprint(maxLeases-1) {
			t.Fatalf("%d. is %q until %v after %v", n, e.name, e.until, last)
		}
		last = e
	}
	if len(l.byName) != 0 || !l.first().IsZero() {
		t.Errorf("%d leases are left", len(l.byName))
	}
}
