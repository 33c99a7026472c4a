package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// choose finds the one client and type that is meant. If several clients were
// sent the same, any of them will do, and all are returned.
func (c *Comparison) choose(st *story, name string) (sent, []string, error) {
	all := slices.DeleteFunc(slices.Clone(st.sent), func(l sent) bool { return c.Type != "" && l.typ != c.Type })
	if len(all) == 0 {
		return sent{}, nil, console.Failed("no resource %q is of type %s", name, c.Type).Hint("it is of %s", strings.Join(typesOf(st.sent), ", "))
	}
	if c.Client != "" {
		var err error
		if all, err = ofClient(all, c.Client); err != nil {
			return sent{}, nil, err
		}
	}
	if types := typesOf(all); len(types) > 1 {
		rejected := typesOf(slices.DeleteFunc(slices.Clone(all), func(l sent) bool { return !l.rejected() }))
		if len(rejected) == 1 {
			all = slices.DeleteFunc(all, func(l sent) bool { return l.typ != rejected[0] })
			st.passed = slices.DeleteFunc(types, func(t string) bool { return t == rejected[0] })
		}
	}
	if types := typesOf(all); len(types) > 1 {
		return sent{}, nil, unsure("%d types have a resource %q: which one?", len(types), name).
			Hint("add --type %s", strings.Join(types, " or --type "))
	}
	for _, at := range []string{c.From, c.To} {
		if seq, err := strconv.ParseUint(at, 10, 63); err == nil && len(all) > 1 {
			came := func(l sent) bool {
				return slices.ContainsFunc(l.versions, func(v history.Version) bool { return v.Seq == session.Seq(seq) })
			}
			if i := slices.IndexFunc(all, came); i >= 0 {
				all = all[i : i+1]
			}
		}
	}
	clients, same := []string{}, true
	for _, l := range all {
		clients = append(clients, l.client)
		same = same && c.signature(l.versions) == c.signature(all[0].versions)
	}
	if same {
		return all[0], clients, nil
	}
	wrong := unsure("%d clients were sent %q, and not the same of it: which one?", len(all), name)
	for _, l := range all[:min(len(all), 8)] {
		last := &l.versions[len(l.versions)-1]
		wrong.Hint("--client %s: %s, the last by entry %d, %s", console.ShellWord(l.client),
			render.Count(len(l.versions), "version", "versions"), last.Seq, render.Verdict(last))
	}
	if more := len(all) - 8; more > 0 {
		wrong.Hint("and %s more", render.Number(more))
	}
	return sent{}, nil, wrong
}

// rejected says whether what was sent last was rejected: that is what one looks
// for where a name alone does not say which resource is meant.
func (s *sent) rejected() bool {
	return s.versions[len(s.versions)-1].State == engine.Rejected
}

// unsure is a usage error that only asks for more.
func unsure(format string, args ...any) *console.Failure {
	f := console.Misused(format, args...)
	f.Aloof = true
	return f
}

func typesOf(all []sent) (out []string) {
	for _, l := range all {
		if !slices.Contains(out, l.typ) {
			out = append(out, l.typ)
		}
	}
	return out
}

// ofClient keeps what the client that was asked for was sent.
func ofClient(all []sent, asked string) ([]sent, error) {
	var ids []engine.ClientStatus
	seen := make(map[string]bool)
	for _, l := range all {
		if !seen[l.client] {
			seen[l.client] = true
			ids = append(ids, engine.ClientStatus{Client: l.client})
		}
	}
	id, err := input.OneClient(ids, asked)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(l sent) bool { return l.client != id }), nil
}

// signature is equal for clients of which the same would be shown.
func (c *Comparison) signature(versions []history.Version) string {
	var b strings.Builder
	add := func(v *history.Version) { fmt.Fprintf(&b, "%x %t %s\n", v.Hash, v.Removed, v.State) }
	if step, ok := history.LastStep(versions); ok && !c.All && c.From+c.To == "" {
		add(&versions[step.From])
		add(&versions[step.To])
		return b.String()
	}
	for i := range versions {
		add(&versions[i])
	}
	return b.String()
}

// steps are the pairs of versions to compare.
func (c *Comparison) steps(versions []history.Version) ([]history.Step, error) {
	if c.All {
		var out []history.Step
		for i := 1; i < len(versions); i++ {
			out = append(out, history.Step{From: i - 1, To: i})
		}
		return out, nil
	}
	step, ok := history.LastStep(versions)
	if c.From+c.To == "" {
		if !ok {
			return nil, nil
		}
		return []history.Step{step}, nil
	}
	var err error
	if !ok {
		step.From, step.To = 0, 0
	}
	if c.To != "" {
		if step.To, err = versionAt(versions, c.To); err != nil {
			return nil, err
		}
		step.From = max(step.To-1, 0)
	}
	if c.From != "" {
		if step.From, err = versionAt(versions, c.From); err != nil {
			return nil, err
		}
	}
	return []history.Step{step}, nil
}

// versionAt finds a version: the Nth by "vN", or the one that was in force
// after an entry.
func versionAt(versions []history.Version, at string) (int, error) {
	if n, err := strconv.Atoi(strings.TrimPrefix(at, "v")); err == nil && at[0] == 'v' {
		if n < 1 || n > len(versions) {
			return 0, console.Misused("there is no version %s: there are v1 to v%d", at, len(versions))
		}
		return n - 1, nil
	}
	seq, err := strconv.ParseUint(at, 10, 63)
	if err != nil {
		return 0, console.Misused("%q is neither the number of an entry nor a version such as v2", at)
	}
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].Seq <= session.Seq(seq) {
			return i, nil
		}
	}
	return 0, console.Misused("entry %d is before the first version, which came with entry %d", seq, versions[0].Seq)
}
