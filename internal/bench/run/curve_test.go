package main

import (
	"strings"
	"testing"
)

// grown is a curve as it was measured, one cost for each point.
func grown(c curve, relay string, costs ...float64) (t table) {
	for i, cost := range costs {
		s := measured(0, relay, cost)
		s.Load = c.points[i].name
		t = append(t, s)
	}
	return t
}

func TestCurves(t *testing.T) {
	all := curves()
	streams, resources := all[0], all[1]
	tab := append(grown(streams, withRules, 42, 35, 38, 70), grown(resources, withRules, 50, 140, 590, 7790)...)
	tab = append(tab, grown(streams, "nginx", 20, 25, 30)...) // its last point is not possible
	tab = append(tab, grown(resources, floor, 30, 39, 129, 1029)...)
	if got := streams.growth(tab, withRules); got != 2 {
		t.Errorf("the greatest is %v of the least, want 2", got)
	}
	if got := resources.steepest(tab, withRules); got != 1 {
		t.Errorf("a resource costs up to %v, want 1", got)
	}
	if got := streams.growth(tab, "nginx"); got != 0 {
		t.Errorf("a curve with a hole grows by %v, want 0", got)
	}
	var out strings.Builder
	for _, c := range all {
		writeCurve(&out, c, relays, tab)
	}
	writeGoals(&out, tab)
	for _, want := range []string{
		"| 200 | 25.0 us | 1.25 | 35.0 us | 1.00 | 1.40 |",
		"| 8,000 | - | - | 70.0 us | 2.00 |  |",
		"| 10 | 30.0 us |  | 50.0 us |  |  |",
		"| 10,000 | 1029 us | 0.100 us | 7790 us | 0.800 us | 0.700 us |",
		"| xdsproxy | streams | CPU per response, most against least | 1.30 of the least | 2.00 | missed |",
		"| xdsproxy | resources | CPU of each resource, where it is most | 0.15 us | 1.00 | missed |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// A cost is told against the least of those that were measured, wherever in the curve
// that is.
func TestOverLeast(t *testing.T) {
	for _, tc := range []struct {
		costs []float64
		want  float64 // of the last
	}{
		{[]float64{20, 10, 30}, 3},
		{[]float64{10, 20, 30}, 3},
		{[]float64{0, 20, 10, 30}, 3},
		{[]float64{20, 0, 10, 30}, 3},
		{[]float64{10, 0, 30}, 3},
		{[]float64{0, 0, 30}, 1},
		{[]float64{10, 0}, 0},
		{[]float64{0, 0}, 0},
	} {
		if got := overLeast(tc.costs, len(tc.costs)-1); got != tc.want {
			t.Errorf("%v: the last is %v of the least", tc.costs, got)
		}
	}
}
