// fleetday writes a simulated day of a mesh, laid out as an archive is: a
// recording of each proxy, in segments, below cluster=…/date=…/proxy=…. Gateways,
// sidecars and gRPC clients talk to a control plane that pushes once a minute,
// and some of them err. What was planted, what check has to find of it, and what
// the questions of docs/fleet.md have to answer is printed as JSON.
//
// The clock is a virtual one, and the same seed gives the same entries.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// options say which mesh it is, and which day.
type options struct {
	dir      string
	proxies  int
	services int
	churn    int           // services whose endpoints change with each push
	length   time.Duration // of the day
	every    time.Duration // between pushes
	segment  time.Duration // of each file
	begin    time.Time
	seed     uint64
	faults   bool
}

func main() {
	o := options{}
	flag.StringVar(&o.dir, "w", "", "the directory to write to, which must not exist")
	flag.IntVar(&o.proxies, "proxies", 100, "how many proxies record, at least 20")
	flag.IntVar(&o.services, "services", 50, "how many services the mesh has, at least 12")
	flag.IntVar(&o.churn, "churn", 3, "how many of them get other endpoints with each push, at least 2")
	flag.DurationVar(&o.length, "length", 24*time.Hour, "how long it lasts, at least 3h")
	flag.DurationVar(&o.every, "push", time.Minute, "how often some services change")
	flag.DurationVar(&o.segment, "segment", 6*time.Hour, "after how long a file ends and the next begins")
	begin := flag.String("begin", "2026-11-25T00:00:00Z", "when it begins")
	flag.Uint64Var(&o.seed, "seed", 1, "the same seed gives the same day")
	flag.BoolVar(&o.faults, "faults", true, "plant faults")
	flag.Parse()
	report, err := write(o, *begin)
	if err == nil {
		out := json.NewEncoder(os.Stdout)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleetday:", err)
		os.Exit(1)
	}
}

func write(o options, begin string) (*report, error) {
	var err error
	if o.begin, err = time.Parse(time.RFC3339, begin); err != nil {
		return nil, err
	}
	switch {
	case o.dir == "":
		return nil, fmt.Errorf("name a directory with -w")
	case o.proxies < 20 || o.services < 12 || o.churn < 2 || o.churn > o.services/2 || o.length < 3*time.Hour || o.every < time.Second || o.length/o.every < 12 || o.segment <= 0:
		return nil, fmt.Errorf("too little: there are at least 20 proxies, 12 services of which half may change, 3h, 12 pushes, and a second between them")
	}
	return simulate(o)
}
