package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// answers are the rows that the questions of docs/fleet.md have for this day, by
// what a question is called there. Values are texts, numbers and nil; times are in
// UTC, to the microsecond.
type answers map[string][][]any

// whole is what all proxies have in common.
type whole struct {
	w       *world
	proxies []*proxy
	*truth
}

func answer(w *world, proxies []*proxy) answers {
	a := &whole{w, proxies, newTruth()}
	for _, p := range proxies {
		t := p.truth
		for typ, l := range t.latencies {
			a.latencies[typ] = append(a.latencies[typ], l...)
		}
		earliest(a.sent, t.sent)
		earliest(a.accepted, t.accepted)
		earliest(a.rejected, t.rejected)
		earliest(a.versions, t.versions)
		earliest(a.editions, t.editions)
		maps.Copy(a.runs, t.runs)
		maps.Copy(a.reasons, t.reasons)
		maps.Copy(a.certificates, t.certificates)
		for k, l := range t.loops {
			a.loops[k] = l
		}
		for name, n := range t.sends {
			a.sends[name] += n
		}
		a.nameless = append(a.nameless, t.nameless...)
	}
	return answers{
		"versions": a.byGateway(), "latency": a.latency(), "rejections": a.firstRejections(), "stale": a.stale(), "loops": a.nackLoops(),
		"biggest": a.biggest(), "churn": a.churn(), "certificates": a.expiring(), "nameless": a.nodeless(), "findings": a.findings(),
	}
}

func earliest[K comparable](into, from map[K]time.Time) {
	for k, at := range from {
		first(into, k, at)
	}
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000000") }

// sorted are rows in the order of their columns.
func sorted(rows [][]any) [][]any {
	slices.SortFunc(rows, func(a, b []any) int {
		for i := range a {
			if c := compare(a[i], b[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	return rows
}

func compare(a, b any) int {
	if x, is := a.(int); is {
		return cmp.Compare(x, b.(int))
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func (a *whole) byGateway() (rows [][]any) {
	for h, since := range a.versions {
		if strings.HasPrefix(h.client, "router~") && (h.typ == "LDS" || h.typ == "RDS") {
			rows = append(rows, []any{h.cluster, h.client, h.typ, stamp(since), h.version})
		}
	}
	return sorted(rows)
}

func (a *whole) latency() (rows [][]any) {
	for _, typ := range sortedKeys(a.latencies) {
		l := slices.Sorted(slices.Values(a.latencies[typ]))
		// The smallest one that is not exceeded by 99 of a hundred.
		rows = append(rows, []any{typ, len(l), int(l[(len(l)*99+99)/100-1])})
	}
	return rows
}

func (a *whole) firstRejections() (rows [][]any) {
	type radius struct {
		fact
		at           time.Time
		by           string
		sent, refuse int
	}
	all := make(map[string]*radius)
	for f, at := range a.rejected {
		r := all[f.content]
		if r == nil {
			r = &radius{fact: f}
			all[f.content] = r
		}
		if r.refuse++; r.refuse == 1 || at.Before(r.at) {
			r.at, r.by = at, f.client
		}
	}
	for f := range a.sent {
		if r := all[f.content]; r != nil {
			r.sent++
		}
	}
	for _, r := range all {
		rows = append(rows, []any{stamp(r.at), r.typ, r.name, r.content, r.by, r.refuse, r.sent})
	}
	return sorted(rows)
}

func (a *whole) stale() (rows [][]any) {
	for h, version := range a.runs {
		if h.typ != "CDS" && h.typ != "LDS" && h.typ != "RDS" || h.client == "" || !a.connected(h.client) {
			continue
		}
		role, _, _ := strings.Cut(h.client, "~")
		own := a.editions[held{client: role, typ: h.typ, version: version}]
		var behind, newest time.Time
		latest := version
		for e, at := range a.editions {
			if e.client != role || e.typ != h.typ || !at.After(own) {
				continue
			}
			if behind.IsZero() || at.Before(behind) {
				behind = at
			}
			if at.After(newest) {
				newest, latest = at, e.version
			}
		}
		if latest != version {
			rows = append(rows, []any{h.cluster, h.client, h.typ, version, latest, stamp(behind)})
		}
	}
	return sorted(rows)
}

func (a *whole) connected(client string) bool {
	for _, p := range a.proxies {
		for _, c := range p.clients {
			if c.id() == client {
				return c.subs != nil
			}
		}
	}
	return false
}

func (a *whole) nackLoops() (rows [][]any) {
	for k, l := range a.loops {
		if l.times >= 5 {
			rows = append(rows, []any{k.cluster, k.client, k.typ, k.version, l.times, stamp(l.from), stamp(l.until)})
		}
	}
	return sorted(rows)
}

func (a *whole) biggest() (rows [][]any) {
	type resource struct{ typ, name string }
	size, contents := make(map[resource]int), make(map[resource]map[string]bool)
	for f := range a.sent {
		r := resource{f.typ, f.name}
		size[r] = max(size[r], f.size)
		if contents[r] == nil {
			contents[r] = make(map[string]bool)
		}
		contents[r][f.content] = true
	}
	for r, n := range size {
		rows = append(rows, []any{-n, r.typ, r.name, len(contents[r])})
	}
	rows = sorted(rows)[:10]
	for _, r := range rows {
		r[0] = -r[0].(int)
	}
	return rows
}

func (a *whole) churn() (rows [][]any) {
	contents := make(map[string]map[string]bool)
	for f := range a.sent {
		if f.typ == "EDS" {
			if contents[f.name] == nil {
				contents[f.name] = make(map[string]bool)
			}
			contents[f.name][f.content] = true
		}
	}
	for name, all := range contents {
		host := strings.Split(name[strings.LastIndexByte(name, '|')+1:], ".")
		rows = append(rows, []any{-len(all), fmt.Sprintf("Service %s/%s, port 8080 (by its name)", host[1], host[0]), a.sends[name]})
	}
	rows = sorted(rows)[:10]
	for _, r := range rows {
		r[0] = -r[0].(int)
	}
	return rows
}

func (a *whole) expiring() (rows [][]any) {
	type certificate struct{ name, until string }
	clients := make(map[certificate]int)
	for h, until := range a.certificates {
		if end := a.w.timeOf(a.w.steps); until.Before(end.AddDate(0, 0, 7)) && h.client != "" {
			clients[certificate{h.version, stamp(until)}]++
		}
	}
	for c, n := range clients {
		rows = append(rows, []any{c.until, c.name, n})
	}
	return sorted(rows)
}

func (a *whole) nodeless() [][]any { return sorted(a.nameless) }

func (a *whole) findings() (rows [][]any) {
	type key struct{ agent, version, rule string }
	clients := make(map[key]int)
	for _, f := range catalogue {
		for _, p := range a.proxies {
			for _, at := range p.truth.faults[f.ID] {
				k := key{}
				for _, c := range p.clients {
					if c.id() == at.Client && at.Client != "" {
						k.agent, k.version = agentOf(c.node)
					}
				}
				for _, rule := range f.Findings {
					k.rule = rule
					clients[k]++
				}
			}
		}
	}
	for k, n := range clients {
		row := []any{k.agent, k.version, k.rule, n}
		if k.agent == "" {
			row[0], row[1] = nil, nil
		}
		rows = append(rows, row)
	}
	return sorted(rows)
}

func agentOf(n *corev3.Node) (name, version string) {
	if v := n.GetUserAgentBuildVersion().GetVersion(); v != nil {
		return n.UserAgentName, fmt.Sprintf("%d.%d.%d", v.MajorNumber, v.MinorNumber, v.Patch)
	}
	return n.UserAgentName, n.GetUserAgentVersion()
}
