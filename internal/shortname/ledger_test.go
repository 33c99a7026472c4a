package shortname

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// TestLedger: how names of all shapes are written from no column to more than they
// need, those of a set, those that come one by one, and one alone.
func TestLedger(t *testing.T) {
	sets := hostileNames()
	sets["consul"] = []string{
		"web.default.dc1.internal.0fa8e1c2-5a4f-11ee-be56-0242ac120002.consul", "v2.web.default.dc1.internal.0fa8e1c2-5a4f-11ee-be56-0242ac120002.consul",
		"api.default.dc1.internal-v1.0fa8e1c2.consul", "api.default.dc2.external.0fa8e1c2.consul", ".internal.x.consul", "other.consul",
	}
	sets["routes"] = []string{
		"httproute/shop/checkout-with-a-long-name/rule/0", "httproute/shop/checkout-with-a-long-name/rule/1/match/0/*", "grpcroute/shop/cart/rule/0", "a/b/c/d", "a/b/c",
	}
	sets["no shape"] = []string{"a~b~c", "a~b~c~d", "a|b|c", "inbound_.80_.v1", "inbound_.80_.v1_.x.svc.cluster.local", "outbound|80||.svc.x", "a=b,c d@e#f", "--", "a--b__c"}
	sets["marks"] = []string{"", "\u02ff\u0300\u0301", "e\u0301e\u0301e\u0301e\u0301e\u0301", "e\u20ddx", "世e\u0301界-\uff21\uff22", "\u0301\u0301abcdef", "a\U0001f600b\U0001f600c\U0001f600d"}
	var names []string
	for n := range sets {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, what := range names {
		all := sets[what]
		fmt.Fprintf(&b, "== %s\n", what)
		set, met := New(all), new(Set)
		for i, n := range all {
			if i >= 6 && i < len(all)-2 {
				continue
			}
			fmt.Fprintf(&b, "%s\n", n)
			for _, columns := range []int{-1, 0, 1, 2, 3, 4, 5, 6, 8, 11, 16, 22, 30, 39, 40, 41, 60, 79, 80} {
				if columns > 8 && columnsOf(n) < columns-20 {
					continue
				}
				fmt.Fprintf(&b, "%3d %s | %s | %s\n", columns, set.Fit(n, columns), met.Fit(n, columns), Alone(n, columns))
			}
		}
	}
	golden.Is(t, "testdata/ledger.txt", b.String())
}

// A set is of the names that it was made of, whichever order they are in.
func TestHas(t *testing.T) {
	s := New([]string{"b", "a", "a"})
	for text, want := range map[string]bool{"a b": true, "b a": true, "a": false, "a b c": false, "a c": false} {
		if got := s.Has(strings.Fields(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	if (*Set)(nil).Has(nil) {
		t.Error("no set is of no names")
	}
	if got := (*Set)(nil).Fit(strings.Repeat("a", 30), 6); got != Alone(strings.Repeat("a", 30), 6) {
		t.Error(got)
	}
	// What was answered is forgotten in the end, and answered again.
	s = New([]string{strings.Repeat("x", 30) + "1"})
	first := s.Fit(strings.Repeat("x", 30)+"1", 12)
	for i := range maxAnswers {
		s.Fit(fmt.Sprint(i), 12)
	}
	if len(s.short) > maxAnswers || s.Fit(strings.Repeat("x", 30)+"1", 12) != first {
		t.Errorf("%d answers are kept", len(s.short))
	}
}
