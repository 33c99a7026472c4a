package compare

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Versions compares versions of one resource.
func (f *Comparison) Versions(ctx context.Context, source, name string) error {
	src, err := f.Open(source)
	if err != nil {
		return err
	}
	defer src.Close()
	st, damage := f.readStory(ctx, src, name)
	if st == nil {
		return damage
	}
	if len(st.lanes) == 0 {
		if damage != nil {
			return damage
		}
		return st.names.missing(name, src.Name)
	}
	l, clients, err := f.choose(st, name)
	if err != nil {
		return err
	}
	steps, err := f.steps(l.versions)
	if err != nil {
		return err
	}
	v := &versionsView{Comparison: f, st: st, lane: l, clients: clients, name: name}
	print := v.text
	if f.Output == "json" {
		print = v.json
	}
	return cmp.Or(print(steps), damage)
}

// choose finds the one client and type that is meant. If several clients were
// sent the same, any of them will do, and all are returned.
func (f *Comparison) choose(st *story, name string) (lane, []string, error) {
	lanes := slices.DeleteFunc(slices.Clone(st.lanes), func(l lane) bool { return f.Type != "" && l.typ != f.Type })
	if len(lanes) == 0 {
		return lane{}, nil, console.Failed("no resource %q is of type %s", name, f.Type).Hint("it is of %s", strings.Join(typesOf(st.lanes), ", "))
	}
	if f.Client != "" {
		var err error
		if lanes, err = ofClient(lanes, f.Client); err != nil {
			return lane{}, nil, err
		}
	}
	if types := typesOf(lanes); len(types) > 1 {
		return lane{}, nil, unsure("%d types have a resource %q: which one?", len(types), name).
			Hint("add --type %s", strings.Join(types, " or --type "))
	}
	for _, at := range []string{f.From, f.To} {
		if seq, err := strconv.ParseUint(at, 10, 63); err == nil && len(lanes) > 1 {
			sent := func(l lane) bool {
				return slices.ContainsFunc(l.versions, func(v engine.Version) bool { return v.Seq == session.Seq(seq) })
			}
			if i := slices.IndexFunc(lanes, sent); i >= 0 {
				lanes = lanes[i : i+1]
			}
		}
	}
	clients, same := []string{}, true
	for _, l := range lanes {
		clients = append(clients, l.client)
		same = same && f.signature(l.versions) == f.signature(lanes[0].versions)
	}
	if same {
		return lanes[0], clients, nil
	}
	wrong := unsure("%d clients were sent %q, and not the same of it: which one?", len(lanes), name)
	for _, l := range lanes[:min(len(lanes), 8)] {
		last := &l.versions[len(l.versions)-1]
		wrong.Hint("--client %s: %s, the last by entry %d, %s", console.ShellWord(l.client),
			render.Count(len(l.versions), "version", "versions"), last.Seq, render.Verdict(last))
	}
	if more := len(lanes) - 8; more > 0 {
		wrong.Hint("and %s more", render.Number(more))
	}
	return lane{}, nil, wrong
}

// unsure is a usage error that only asks for more.
func unsure(format string, args ...any) *console.Failure {
	f := console.Misused(format, args...)
	f.Aloof = true
	return f
}

func typesOf(lanes []lane) (out []string) {
	for _, l := range lanes {
		if !slices.Contains(out, l.typ) {
			out = append(out, l.typ)
		}
	}
	return out
}

// ofClient keeps the lanes of the client that was asked for.
func ofClient(lanes []lane, asked string) ([]lane, error) {
	var ids []engine.ClientStatus
	seen := make(map[string]bool)
	for _, l := range lanes {
		if !seen[l.client] {
			seen[l.client] = true
			ids = append(ids, engine.ClientStatus{Client: l.client})
		}
	}
	id, err := input.OneClient(ids, asked)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(lanes, func(l lane) bool { return l.client != id }), nil
}

// signature is equal for clients of which the same would be shown.
func (f *Comparison) signature(versions []engine.Version) string {
	var b strings.Builder
	add := func(v *engine.Version) { fmt.Fprintf(&b, "%x %t %s\n", v.Hash, v.Removed, v.State) }
	if step, ok := engine.LastStep(versions); ok && !f.All && f.From+f.To == "" {
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
func (f *Comparison) steps(versions []engine.Version) ([]engine.Step, error) {
	if f.All {
		var out []engine.Step
		for i := 1; i < len(versions); i++ {
			out = append(out, engine.Step{From: i - 1, To: i})
		}
		return out, nil
	}
	step, ok := engine.LastStep(versions)
	if f.From+f.To == "" {
		if !ok {
			return nil, nil
		}
		return []engine.Step{step}, nil
	}
	var err error
	if !ok {
		step.From, step.To = 0, 0
	}
	if f.To != "" {
		if step.To, err = versionAt(versions, f.To); err != nil {
			return nil, err
		}
		step.From = max(step.To-1, 0)
	}
	if f.From != "" {
		if step.From, err = versionAt(versions, f.From); err != nil {
			return nil, err
		}
	}
	return []engine.Step{step}, nil
}

// versionAt finds a version: the Nth by "vN", or the one that was in force
// after an entry.
func versionAt(versions []engine.Version, at string) (int, error) {
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

// versionsView is the versions of one resource, about to be shown.
type versionsView struct {
	*Comparison
	st      *story
	lane    lane
	clients []string
	name    string
	told    map[string]bool // problems
}

// content decodes a version. What was removed has none.
func (v *versionsView) content(n int) (decode.Document, error) {
	of := &v.lane.versions[n]
	if of.Removed {
		return decode.Document{}, nil
	}
	r := v.st.contents.byHash[of.Hash]
	if r == nil {
		return decode.Document{}, console.Failed("the versions of %q are more than fit into memory: %s is no longer there", v.name, render.VersionName(n)).
			Hint("compare the messages instead: xdsproxy diff SOURCE SEQ SEQ")
	}
	doc := r.Decode()
	for _, p := range doc.Problems {
		if v.told == nil {
			v.told = make(map[string]bool)
		}
		if !v.told[p] && len(v.told) < 5 {
			v.Warn("entry %d: %s", of.Seq, p)
		}
		v.told[p] = true
	}
	return doc, nil
}

func (v *versionsView) compare(s engine.Step) (*diff.Result, error) {
	from, err := v.content(s.From)
	if err != nil {
		return nil, err
	}
	to, err := v.content(s.To)
	if err != nil {
		return nil, err
	}
	return v.Comparison.compare(from, to), nil
}

func (v *versionsView) json(steps []engine.Step) error {
	out := &render.ResourceDiff{
		Schema: render.Schema, Type: v.lane.typ, Name: v.name, Clients: v.clients, Versions: render.NewVersions(v.lane.versions), Steps: []render.StepJSON{},
	}
	for _, s := range steps {
		r, err := v.compare(s)
		if err != nil {
			return err
		}
		out.Steps = append(out.Steps, render.NewStep(uint64(v.lane.versions[s.From].Seq), uint64(v.lane.versions[s.To].Seq), r))
	}
	return v.JSON(out)
}

// text prints what is compared, the table, and the difference.
func (v *versionsView) text(steps []engine.Step) error {
	w := bufio.NewWriter(v.Stdout)
	style := v.Style()
	marks := map[int]byte{}
	head := fmt.Sprintf("%s %s of %s", v.lane.typ, render.Safe(v.name), render.Safe(clientText(v.clients)))
	switch {
	case len(steps) == 1 && !v.All:
		marks[steps[0].From], marks[steps[0].To] = '-', '+'
		head += ": " + v.stepText(steps[0])
	case len(v.lane.versions) == 1:
		head += ": one version, so nothing to compare"
	default:
		head += ": " + render.Count(len(v.lane.versions), "version", "versions")
	}
	table := render.VersionsText(v.lane.versions, 0, marks, style, v.Columns())
	if _, err := fmt.Fprintf(w, "%s\n\n%s", head, table); err != nil {
		return err
	}
	if v.st.forgotten > 0 {
		v.Warn("%s more came before these", render.Count(v.st.forgotten, "version", "versions"))
	}
	for _, s := range steps {
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		if v.All {
			fmt.Fprintf(w, "%s\n", v.stepText(s))
		}
		r, err := v.compare(s)
		if err != nil {
			return err
		}
		if err := v.printResult(w, r); err != nil {
			return err
		}
	}
	return w.Flush()
}

// stepText says which two versions are compared.
func (v *versionsView) stepText(s engine.Step) string {
	one := func(n int) string {
		of := &v.lane.versions[n]
		what := "not answered"
		switch {
		case of.Removed:
			what = "removed"
		case of.State == engine.Rejected:
			what = "rejected"
		case of.State == engine.Uncertain:
			what = "answered unclearly"
		case of.State == engine.Acked:
			what = "accepted"
			if later := slices.ContainsFunc(v.lane.versions[n+1:], func(l engine.Version) bool { return l.State == engine.Acked }); !later {
				what = "accepted last"
			}
		}
		version := ""
		if of.Version != "" {
			version = "version " + render.Middle(render.Safe(of.Version), 24) + ", "
		}
		return fmt.Sprintf("%s (entry %d, %s%s)", render.VersionName(n), of.Seq, version, what)
	}
	return one(s.From) + " against " + one(s.To)
}

// clientText names the clients that were sent the same.
func clientText(clients []string) string {
	names := slices.Clone(clients)
	for i, c := range names {
		if c == "" {
			names[i] = "a client without a node id"
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	more := ""
	if n := len(names) - 4; n > 0 {
		names, more = names[:4], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%d clients, the same for all (%s%s)", len(clients), strings.Join(names, ", "), more)
}
