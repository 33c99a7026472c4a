package main

import (
	"fmt"
	"io"
	"slices"
)

// goal is a figure that xdsproxy is to reach.
type goal struct {
	relay string // that is to reach it
	load  string
	what  string
	value func(table) float64 // 0: not measured
	limit float64             // at most this
	than  string              // what the limit is a multiple of, or its unit
}

// others are the proxies that keep nothing.
func others() []string { return []string{"haproxy", "nginx", "envoy"} }

func goals() []goal {
	var out []goal
	cost := func(relay, load string, limit float64, than string) {
		out = append(out, goal{relay, load, "CPU per response", func(t table) float64 { return t.ratio(load, relay, than, cpu) }, limit, "of " + than})
	}
	cost(withRules, "multiplex", 1, "nginx")
	cost(withRules, "fleet", 1, "nginx")
	cost(withRules, "pingpong", 1.4, floor)
	cost(withRules, "paced", 1.4, floor)
	cost(withRules, "large", 2, "nginx")
	cost(recordOnly, "large", 1.5, "nginx")
	for _, c := range curves() {
		if c.name == "resources" {
			out = append(out, goal{withRules, c.name, "CPU of each resource, where it is most", func(t table) float64 { return c.steepest(t, withRules) }, 0.15, "us"})
		} else {
			out = append(out, goal{withRules, c.name, "CPU per response, most against least", func(t table) float64 { return c.growth(t, withRules) }, 1.3, "of the least"})
		}
	}
	for _, l := range loads {
		out = append(out, goal{withRules, l.name, "push p50", func(t table) float64 { return t.overFastest(l.name, withRules) }, 1.05, "of the fastest proxy"})
	}
	out = append(out, goal{withRules, "paced", "push p50", func(t table) float64 { return t.ratio("paced", withRules, floor, pushP50) }, 1.25, "of " + floor})
	for _, l := range loads {
		out = append(out, goal{withRules, l.name, "peak memory", func(t table) float64 { return t.of(l.name, withRules).most(peakMB) }, 120, "MB"})
	}
	return append(out, offlineGoals()...)
}

// most is 0 if there is nothing.
func (t table) most(f func(sample) float64) float64 {
	if len(t) == 0 {
		return 0
	}
	return slices.Max(t.values(f))
}

// overFastest is the push latency against that proxy of the others which it is
// greatest against, and 0 if none of them was measured.
func (t table) overFastest(load, relay string) float64 {
	var most float64
	for _, o := range others() {
		most = max(most, t.ratio(load, relay, o, pushP50))
	}
	return most
}

func writeGoals(w io.Writer, t table) {
	fmt.Fprint(w, "\n### The goals\n\n| relay | load | figure | goal, at most | measured | |\n|---|---|---|---|---|---|\n")
	for _, g := range goals() {
		v := g.value(t)
		if v == 0 {
			continue
		}
		met := "met"
		if v > g.limit {
			met = "missed"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s %s | %s | %s |\n", g.relay, g.load, g.what, digits(g.limit), g.than, digits(v), met)
	}
}
