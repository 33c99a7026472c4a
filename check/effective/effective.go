// Package effective holds what clients say that they use against what they accepted.
// It asks the account of package effect, and proves only what that account is sure of.
// Each proof needs an entry in which the client says so: a client that has said nothing
// since may have finished by now.
package effective

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// Proof is what goes into a finding.
type Proof struct {
	Sub     *engine.Subscription
	Names   []string
	Seqs    []session.Seq
	Cause   string
	Message string
}

// Look looks at what a client said by an entry.
type Look func(a *effect.Account, k *engine.Engine, client string, by session.Seq, now time.Time, patience time.Duration) []Proof

// Unused are the resources that a client accepted longer than patience ago and does
// not use. now is when it was asked.
func Unused(a *effect.Account, k *engine.Engine, client string, by session.Seq, now time.Time, patience time.Duration) []Proof {
	var all []group
	for e, s := range a.Pending(k, client) {
		if s.Lost || s.Exempt() || now.Sub(e.Since) <= patience {
			continue
		}
		words := ""
		switch e.State {
		case effect.Warming:
			words = "warming"
			if len(e.Waits) > 0 {
				words += ", and waits for " + strings.Join(e.Waits[:min(len(e.Waits), 4)], ", ")
			}
		case effect.Other:
			words = "in use in another content"
		case effect.Absent:
			words = "not in use"
		default:
			continue
		}
		if e.Why != "" {
			words += ": " + e.Why
		}
		a.Tell(client, e.Type, e.Name)
		all = join(all, s, words, e.Name, e.Accepted.Seq)
	}
	return proofs(all, by, func(g *group) string {
		return fmt.Sprintf("%s accepted longer than %s ago, and the client says that %s: %s",
			were(g.names), words.Round(patience), is(g.names), words.Clip(g.words))
	})
}

// Foreign are the resources that a client uses, asks for, and was never sent. What it
// accepted of the type last has to be older than patience.
func Foreign(a *effect.Account, k *engine.Engine, client string, by session.Seq, now time.Time, patience time.Duration) []Proof {
	var all []group
	for f, s := range a.Strangers(k, client) {
		n := s.Accepted
		if n == nil || s.Lost || s.Exempt() || now.Sub(n.At) <= patience || s.Have.Get(f.Name) != nil || s.Initial[f.Name] != "" {
			continue
		}
		if _, given := s.Dropped[f.Name]; given {
			continue
		}
		a.Tell(client, f.Type, f.Name)
		all = join(all, s, "", f.Name, n.Seq)
	}
	return proofs(all, by, func(g *group) string {
		return fmt.Sprintf("the client uses %s, which this server never sent, though it is asked for", words.List(g.names))
	})
}

// group is what is said of several resources of a type at once.
type group struct {
	sub   *engine.Subscription
	words string
	names []string
	seq   session.Seq
}

func join(all []group, s *engine.Subscription, words, name string, seq session.Seq) []group {
	i := slices.IndexFunc(all, func(g group) bool { return g.sub == s && g.words == words })
	if i < 0 {
		return append(all, group{s, words, []string{name}, seq})
	}
	all[i].names = append(all[i].names, name)
	return all
}

func proofs(all []group, by session.Seq, message func(*group) string) []Proof {
	var out []Proof
	for i := range all {
		g := &all[i]
		out = append(out, Proof{
			Sub: g.sub, Names: g.names, Seqs: []session.Seq{g.seq, by}, Cause: g.words + "\x00" + g.names[0], Message: message(g),
		})
	}
	return out
}

func were(names []string) string {
	if len(names) == 1 {
		return words.List(names) + " was"
	}
	return words.List(names) + " were"
}

func is(names []string) string {
	if len(names) == 1 {
		return "it is"
	}
	return "they are"
}
