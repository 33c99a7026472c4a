package main

import "strconv"

// load is one piece of work for xdsload.
type load struct {
	name     string
	title    string
	streams  int
	conns    int
	clusters int
	pushes   int
	interval string
}

// The loads that all figures of this project are about.
var loads = []load{
	{name: "pingpong", title: "One stream, 1.1 KB responses, as fast as acknowledged", streams: 1, conns: 1, clusters: 5, pushes: 5000},
	{name: "multiplex", title: "64 streams on 8 connections, 1.1 KB responses", streams: 64, conns: 8, clusters: 5, pushes: 500},
	{name: "large", title: "One stream, 4.5 MB responses", streams: 1, conns: 1, clusters: 20000, pushes: 100},
	{name: "fleet", title: "1,000 streams on 50 connections, 4.5 KB responses", streams: 1000, conns: 50, clusters: 20, pushes: 60},
	{name: "paced", title: "16 streams on 4 connections, 1.1 KB responses, one each 4 ms", streams: 16, conns: 4, clusters: 5, pushes: 500, interval: "4ms"},
}

func (l load) id() string { return l.name }

func (l load) args() []string {
	a := []string{"-streams", strconv.Itoa(l.streams)}
	if l.conns > 1 {
		a = append(a, "-conns", strconv.Itoa(l.conns))
	}
	a = append(a, "-clusters", strconv.Itoa(l.clusters), "-pushes", strconv.Itoa(l.pushes))
	if l.interval != "" {
		a = append(a, "-interval", l.interval)
	}
	return a
}

// responses is how many arrive when nothing is lost.
func (l load) responses() int64 { return int64(l.streams) * int64(l.pushes) }

// messages is how many pass in both directions: on each stream the
// subscription, and for each response its acknowledgement.
func (l load) messages() int64 { return int64(l.streams) + 2*l.responses() }

// goal is a figure that xdsproxy is to reach with recording on.
type goal struct {
	relay  string // that is to reach it
	load   string
	figure func(sample) float64
	what   string
	than   string  // the relay it is compared with; "": an absolute figure
	limit  float64 // at most this many times the other's, or at most this
	unit   string
}

func goals() []goal {
	out := []goal{ // what recording costs, and then what the rules add
		{load: "pingpong", what: "CPU per response", figure: cpu, than: "rawrelay", limit: 1},
		{load: "multiplex", what: "CPU per response", figure: cpu, than: "rawrelay", limit: 1},
		{load: "paced", what: "CPU per response", figure: cpu, than: "rawrelay", limit: 1},
		{load: "fleet", what: "CPU per response", figure: cpu, than: "nginx", limit: 1},
		{load: "large", what: "CPU per response", figure: cpu, than: "haproxy", limit: 1},
		{load: "paced", what: "push p50", figure: pushP50, than: "tcprelay", limit: 1.25},
	}
	for _, l := range loads {
		out = append(out, goal{load: l.name, what: "peak memory", figure: peakMB, limit: 120, unit: "MB"})
	}
	for i := range out {
		out[i].relay = recordOnly
	}
	for _, l := range loads {
		out = append(out, goal{relay: "xdsproxy", load: l.name, what: "CPU per response", figure: cpu, than: recordOnly, limit: 1.25})
	}
	return out
}
