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
	if l.len() != maxLeases || len(l.byName) != maxLeases {
		t.Fatalf("%d leases, %d names", l.len(), len(l.byName))
	}
	l.set(lease{name: "0", until: at(-1)}) // from the end to the front
	l.drop(fmt.Sprint(maxLeases - 1))
	l.drop("no such")
	var last time.Time
	for n := 0; l.len() > 0; n++ {
		e := l.pop()
		if n == 0 && e.name != "0" || e.until.Before(last) || e.name == fmt.Sprint(maxLeases-1) {
			t.Fatalf("%d. is %q until %v after %v", n, e.name, e.until, last)
		}
		last = e.until
	}
	if len(l.byName) != 0 {
		t.Errorf("%d names are left", len(l.byName))
	}
}
