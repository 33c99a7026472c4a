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
	curve    string // of which it is a point
}

// The loads that most figures of this project are about.
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
