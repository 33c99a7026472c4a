package timer

import (
	"fmt"
	"testing"
	"time"
)

func TestLeases(t *testing.T) {
	var l Leases
	start := time.Unix(1e9, 0)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Second) }
	for i := range maxLeases + 10 {
		l.Set(Lease{Name: fmt.Sprint(i), Until: at(maxLeases - i)})
	}
	if len(l.ByName) != maxLeases || !l.First().Equal(at(1)) {
		t.Fatalf("%d leases, the first until %v", len(l.ByName), l.First())
	}
	l.Set(Lease{Name: "0", Until: at(-1)}) // from the end to the front
	l.Set(Lease{Name: "2", Until: at(7)})  // together with another
	delete(l.ByName, fmt.Sprint(maxLeases-1))
	if !l.First().Equal(at(-1)) {
		t.Fatalf("the first ends at %v", l.First())
	}
	if over := l.Ended(at(-2)); len(over) != 0 {
		t.Fatalf("%v ended too early", over)
	}
	var last Lease
	for n, e := range l.Ended(at(maxLeases)) {
		if n == 0 && e.Name != "0" || e.Until.Before(last.Until) || e.Until.Equal(last.Until) && e.Name <= last.Name || e.Name == fmt.Sprint(maxLeases-1) {
			t.Fatalf("%d. is %q until %v after %v", n, e.Name, e.Until, last)
		}
		last = e
	}
	if len(l.ByName) != 0 || !l.First().IsZero() {
		t.Errorf("%d leases are left", len(l.ByName))
	}
}
