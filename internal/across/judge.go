package across

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// What bounds one report of a fleet.
const (
	maxCauses  = 50_000
	maxClients = 10_000 // of one cause
	maxProxies = 20_000 // likewise
)

// judged is what rules found in one recording.
type judged struct {
	findings []check.Finding
	summary  check.Summary
	facts    recorder.Facts
	err      error
}

// Judge holds all recordings against the rules, each by itself and several at once,
// and adds to the report what was found: one finding for one cause. strict also
// fails where a recording could not be read. An error comes beside the report if
// what could be read was judged.
func (r *Reader) Judge(ctx context.Context, o check.Options, report *render.Report, strict bool) error {
	end := r.begin("judging")
	defer end()
	all := causes{known: make(map[string]*cause)}
	damages, unreads := 0, 0
	err := inOrder(ctx, len(r.All), func(ctx context.Context, i int) judged {
		checker := check.NewChecker(o)
		facts, err := r.each(ctx, r.All[i], checker, func(*session.Entry, *check.Change) error { return nil })
		return judged{check.Fold(checker.Findings()), checker.Summary(), facts, err}
	}, func(i int, j judged) error {
		what, err := r.judgeError(ctx, r.All[i], j.err)
		if err != nil {
			return err
		}
		report.Summary.Recordings++
		switch what {
		case damaged:
			damages++
		case unread:
			unreads++
			return nil
		}
		if !j.facts.Complete && j.facts.Entries > 0 && what == read {
			r.tell("%s of %s is not complete: its end is not there", r.All[i].Name, r.All[i].Proxy)
		}
		for k := range j.findings {
			all.add(&j.findings[k], r.All[i], r.Proxy(r.All[i]))
		}
		report.Add("", nil, j.summary)
		return nil
	})
	if err != nil {
		return err
	}
	report.Summary.Unread += unreads
	if all.more {
		r.tell("more than %d causes were found; those of the last recordings are left out", maxCauses)
	}
	all.report(report)
	return left(damages, unreads, len(r.All), strict)
}

// cause is one finding on many proxies: that which was proved first, and on whom it
// was proved, too.
type cause struct {
	first   check.Finding
	source  string // that it was found in
	proxies []string
	clients []string
	last    check.Finding
	count   int
	on      map[string]bool // proxies, and clients with a zero before their names
	more    bool            // clients
	beyond  bool            // proxies
	other   bool            // the last is in another recording than the first
}

// causes are findings by what they have in common.
type causes struct {
	known map[string]*cause
	more  bool
}

func (a *causes) add(f *check.Finding, rec *fleet.Recording, proxy string) {
	c := a.known[f.Common]
	if c == nil {
		if len(a.known) >= maxCauses {
			a.more = true
			return
		}
		c = &cause{first: *f, source: rec.Source, last: *f, on: make(map[string]bool)}
		a.known[f.Common] = c
	} else {
		if f.At.Before(c.first.At) {
			c.first, c.source = *f, rec.Source
		}
		if f.Last.After(c.last.Last) {
			c.last = *f
		}
		c.other = true
	}
	c.count += f.Count
	c.more = c.more || f.MoreClients
	switch {
	case c.on[proxy]:
	case len(c.proxies) >= maxProxies:
		c.beyond = true
	default:
		c.on[proxy] = true
		c.proxies = append(c.proxies, proxy)
	}
	clients := f.Clients
	if len(clients) == 0 && f.Client != "" {
		clients = []string{f.Client}
	}
	for _, id := range clients {
		switch key := "\x00" + id; {
		case c.on[key]:
		case len(c.clients) >= maxClients:
			c.more = true
		default:
			c.on[key] = true
			c.clients = append(c.clients, id)
		}
	}
}

// report adds all to a report, in the order in which they were proved first.
func (a *causes) report(to *render.Report) {
	all := slices.SortedFunc(maps.Values(a.known), func(a, b *cause) int {
		return cmp.Or(a.first.At.Compare(b.first.At), cmp.Compare(a.source, b.source), cmp.Compare(a.first.LastSeq, b.first.LastSeq), cmp.Compare(a.first.Common, b.first.Common))
	})
	for _, c := range all {
		f := c.first
		f.Count, f.MoreClients, f.Clients, f.Cause = c.count, c.more, nil, 0
		f.Last, f.LastSeq = c.last.Last, c.last.LastSeq
		if len(c.clients) > 1 || c.more {
			// The first stays the one of whom the words are.
			slices.SortStableFunc(c.clients, func(a, b string) int { return cmp.Compare(b2i(a != f.Client), b2i(b != f.Client)) })
			f.Clients = c.clients
		}
		before := len(to.Findings)
		to.Add(c.source, []check.Finding{f}, check.Summary{})
		one := &to.Findings[before]
		one.Clients, one.Proxies, one.MoreProxies = f.Clients, c.proxies, c.beyond
		if c.other { // the number would be that of another recording
			one.LastSeq = 0
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
