package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// curve is a row of loads that differ in one size: how the cost of a response
// grows with it.
type curve struct {
	name   string
	title  string
	size   func(load) int
	points []load
}

func curves() []curve {
	streams := curve{
		name: "streams", title: "From 20 to 8,000 streams, 20 on each connection, 4.5 KB responses",
		size: func(l load) int { return l.streams },
	}
	for _, p := range []struct{ streams, pushes int }{{20, 3000}, {200, 300}, {2000, 30}, {8000, 10}} {
		streams.points = append(streams.points, load{streams: p.streams, conns: p.streams / 20, clusters: 20, pushes: p.pushes})
	}
	resources := curve{
		name: "resources", title: "From 10 to 10,000 resources in a response, none of which changed",
		size: func(l load) int { return l.clusters },
	}
	for _, p := range []struct{ clusters, pushes int }{{10, 5000}, {100, 4000}, {1000, 1500}, {10000, 200}} {
		resources.points = append(resources.points, load{streams: 1, conns: 1, clusters: p.clusters, pushes: p.pushes})
	}
	all := []curve{streams, resources}
	for _, c := range all {
		for i := range c.points {
			p := &c.points[i]
			p.curve, p.name = c.name, fmt.Sprintf("%s-%d", c.name, c.size(*p))
		}
	}
	return all
}

func (c curve) id() string { return c.name }

// costs are the medians of CPU per response, one for each point, and 0 where
// there is none.
func (c curve) costs(t table, relay string) []float64 {
	out := make([]float64, len(c.points))
	for i, p := range c.points {
		out[i] = t.of(p.name, relay).median(cpu)
	}
	return out
}

// overLeast is a cost, against the least of its curve.
func overLeast(costs []float64, i int) float64 {
	least := slices.MinFunc(costs, func(a, b float64) int {
		switch { // what was not measured is no cost
		case a == 0:
			return 1
		case b == 0:
			return -1
		}
		return cmp.Compare(a, b)
	})
	if least == 0 {
		return 0
	}
	return costs[i] / least
}

// slope is what each unit of the size costs between the point before and this
// one. It may be zero or less; ok says whether there are two points.
func (c curve) slope(costs []float64, i int) (each float64, ok bool) {
	if i == 0 || costs[i] == 0 || costs[i-1] == 0 {
		return 0, false
	}
	return (costs[i] - costs[i-1]) / float64(c.size(c.points[i])-c.size(c.points[i-1])), true
}

// steepest is the greatest slope, and 0 unless all points were measured.
func (c curve) steepest(t table, relay string) float64 {
	costs, most := c.costs(t, relay), 0.0
	for i := 1; i < len(costs); i++ {
		each, ok := c.slope(costs, i)
		if !ok {
			return 0
		}
		most = max(most, each)
	}
	return most
}

// growth is the greatest cost against the least, and 0 unless all points were
// measured.
func (c curve) growth(t table, relay string) float64 {
	costs := c.costs(t, relay)
	if slices.Contains(costs, 0) {
		return 0
	}
	return slices.Max(costs) / slices.Min(costs)
}

func writeCurve(w io.Writer, c curve, relays []relay, t table) {
	var taking []string
	for _, r := range relays {
		if r.grows && slices.Max(c.costs(t, r.name)) > 0 {
			taking = append(taking, r.name)
		}
	}
	if len(taking) == 0 {
		return
	}
	fmt.Fprintf(w, "\n### %s\n\n", c.title)
	for _, p := range c.points {
		fmt.Fprintf(w, "`xdsload %s`  \n", strings.Join(p.args(), " "))
	}
	head := []string{c.name}
	for _, r := range taking {
		head = append(head, r+", CPU per response", c.derived())
	}
	if c.name == "resources" {
		head = append(head, "each more, above "+floor)
	}
	head = append(head, "xdsproxy / nginx", "xdsproxy, push p50", "peak memory")
	fmt.Fprintf(w, "\n| %s |\n%s|\n", strings.Join(head, " | "), strings.Repeat("|---", len(head)))
	for i, p := range c.points {
		row := []string{thousands(c.size(p))}
		for _, r := range taking {
			costs, mine := c.costs(t, r), t.of(p.name, r)
			if len(mine) == 0 {
				row = append(row, "-", "-")
				continue
			}
			row = append(row, spread(mine.values(cpu)), c.derive(costs, i))
		}
		mine := t.of(p.name, withRules)
		if c.name == "resources" {
			above := ""
			each, ok := c.slope(c.costs(t, withRules), i)
			if of, both := c.slope(c.costs(t, floor), i); ok && both {
				above = fmt.Sprintf("%.3f us", each-of)
			}
			row = append(row, above)
		}
		row = append(row, times(t.ratio(p.name, withRules, "nginx", cpu)))
		if len(mine) > 0 {
			row = append(row, spread(mine.values(pushP50)), fmt.Sprintf("%.0f MB", slices.Max(mine.values(peakMB))))
		} else {
			row = append(row, "-", "-")
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

// derived heads the column of what is derived from a cost.
func (c curve) derived() string {
	if c.name == "resources" {
		return "each more"
	}
	return "/ its least"
}

func (c curve) derive(costs []float64, i int) string {
	if c.name != "resources" {
		return times(overLeast(costs, i))
	}
	if each, ok := c.slope(costs, i); ok {
		return fmt.Sprintf("%.3f us", each)
	}
	return ""
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// loadNames are what -loads knows.
func loadNames() string { return names(loads) + "," + names(curves()) + "," + offline }

// pickLoads gives all points of a curve for its name, and says whether the tasks
// are wanted, too.
func pickLoads(list string) (some []load, tasks bool, err error) {
	if list == "all" {
		list = loadNames()
	}
	all := slices.Clone(loads)
	for _, c := range curves() {
		all = append(all, c.points...)
	}
	for want := range strings.SplitSeq(list, ",") {
		before := len(some)
		for _, l := range all {
			if l.name == want || l.curve == want {
				some = append(some, l)
			}
		}
		if tasks = tasks || want == offline; want != offline && len(some) == before {
			return nil, false, fmt.Errorf("%q is none of %s", want, loadNames())
		}
	}
	return some, tasks, nil
}
