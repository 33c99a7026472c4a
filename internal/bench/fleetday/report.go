package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// report is what was planted, and what there is to find.
type report struct {
	Dir          string    `json:"dir"`
	Seed         uint64    `json:"seed"`
	Proxies      int       `json:"proxies"`
	Services     int       `json:"services"`
	Pushes       int       `json:"pushes"`
	Begin        time.Time `json:"begin"`
	End          time.Time `json:"end"`
	Entries      int       `json:"entries"`
	Messages     int       `json:"messages"`
	MessageBytes int64     `json:"message_bytes"`
	ArchiveBytes int64     `json:"archive_bytes"`
	Faults       []planned `json:"faults"`
	Answers      answers   `json:"answers"`
}

// planned is a fault, and what check has to find of it: of each rule one finding.
type planned struct {
	ID       string   `json:"id"`
	What     string   `json:"what"`
	Where    []where  `json:"where"`
	Findings []string `json:"findings"`
}

// catalogue says what each fault is, and which rules find it.
var catalogue = []planned{
	{ID: "nack-loop", What: "a server sends every two seconds, for ten minutes, clusters that the client rejects", Findings: []string{"nack-received", "nack-immediate-resend"}},
	{ID: "rejected-content", What: "three gateways reject a route that others accept, one of them half a minute before the others", Findings: []string{"nack-received"}},
	{ID: "stale", What: "a server forgets a client: it gets no clusters, listeners and routes any more"},
	{ID: "no-node", What: "a client that does not say who it is", Findings: []string{"first-request-missing-node"}},
	{ID: "duplicate-resource", What: "a response with one cluster twice, which is rejected", Findings: []string{"duplicate-resource", "nack-received"}},
	{ID: "ack-never", What: "a client does not answer a response", Findings: []string{"ack-missing"}},
	{ID: "nonce-missing", What: "a response without a nonce", Findings: []string{"response-nonce-missing"}},
	{ID: "nonce-reused", What: "two responses with one nonce", Findings: []string{"response-nonce-reused"}},
	{ID: "nonce-of-other-type", What: "an answer with the nonce of another type", Findings: []string{"nonce-unknown"}},
	{ID: "version-unknown", What: "a client accepts a version that nobody sent", Findings: []string{"ack-version-unknown"}},
	{ID: "node-changes", What: "a client that is another one in the middle of a stream", Findings: []string{"node-identity-changed"}},
	{ID: "added-and-removed", What: "a response that adds and removes one name, which is rejected", Findings: []string{"delta-added-and-removed", "nack-received"}},
	{ID: "bad-names", What: "a request that names a resource twice", Findings: []string{"request-bad-names"}},
	{ID: "refused", What: "a client whose streams the server refuses", Findings: []string{"stream-rejected"}},
}

// simulate writes the day.
func simulate(o options) (*report, error) {
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		return nil, err
	}
	w := newWorld(o)
	live := filepath.Join(o.dir, "live")
	if err := os.Mkdir(live, 0o700); err != nil {
		return nil, err
	}
	proxies := make([]*proxy, o.proxies)
	for i := range proxies {
		proxies[i] = newProxy(w, i)
	}
	var group sync.WaitGroup
	errs, room := make([]error, o.proxies), make(chan struct{}, 4)
	for i, p := range proxies {
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			errs[i] = p.run(live)
		})
	}
	group.Wait()
	if err := errors.Join(append(errs, os.Remove(live))...); err != nil {
		return nil, fmt.Errorf("the day is not complete: %w", err)
	}
	r := &report{Dir: o.dir, Seed: o.seed, Proxies: o.proxies, Services: o.services, Pushes: w.steps - 1, Begin: o.begin, End: o.begin.Add(o.length)}
	for _, p := range proxies {
		r.Entries += p.truth.entries
		r.Messages += p.truth.messages
		r.MessageBytes += p.truth.messageBytes
		r.ArchiveBytes += p.truth.bytes
	}
	for _, f := range catalogue {
		for _, p := range proxies {
			f.Where = append(f.Where, p.truth.faults[f.ID]...)
		}
		if len(f.Where) > 0 {
			r.Faults = append(r.Faults, f)
		}
	}
	r.Answers = answer(w, proxies)
	return r, nil
}
