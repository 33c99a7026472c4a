package compare

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Versions compares versions of one resource.
func (c *Comparison) Versions(ctx context.Context, source, name string) error {
	src, err := c.Open(source)
	if err != nil {
		return err
	}
	defer src.Close()
	st, damage := c.readStory(ctx, src, name)
	if st == nil {
		return damage
	}
	if st.forgotten > 0 {
		c.Warn("there are more versions than fit into memory: the oldest are left out, which are %s", render.Number(st.forgotten))
	}
	if st.beyond > 0 {
		c.Warn("there are more clients at once than can be followed: %s to others are left out", render.Count(st.beyond, "push", "pushes"))
	}
	if len(st.sent) == 0 {
		if damage != nil {
			return damage
		}
		return st.names.missing(name, src.Name)
	}
	l, clients, err := c.choose(st, name)
	if err != nil {
		return err
	}
	if len(st.passed) > 0 {
		c.Say("the type is %s, because what came last of it was rejected; there is one of %s, too: --type %s",
			l.typ, strings.Join(st.passed, " and "), strings.Join(st.passed, " or --type "))
	}
	steps, err := c.steps(l.versions)
	if err != nil {
		return err
	}
	v := &versionsView{Comparison: c, st: st, of: l, clients: clients, name: name}
	print := v.text
	if c.Output == "json" {
		print = v.json
	}
	return cmp.Or(print(steps), damage)
}

// versionsView is the versions of one resource, about to be shown.
type versionsView struct {
	*Comparison
	st      *story
	of      sent
	clients []string
	name    string
	told    map[string]bool // problems
}

// content decodes a version. What was removed has none.
func (v *versionsView) content(n int) (document.Document, error) {
	of := &v.of.versions[n]
	if of.Removed {
		return document.Document{}, nil
	}
	r := v.st.contents.get(of.Hash)
	if r == nil {
		return document.Document{}, console.Failed("the versions of %q are more than fit into memory: %s is no longer there", v.name, render.VersionName(n)).
			Hint("compare the messages instead: xdsproxy diff SOURCE SEQ SEQ")
	}
	doc := decode.Decoder{Types: v.Types}.Resource(r)
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

// sources are the objects of which the newest version that is there was made.
func (v *versionsView) sources() (list []origin.Source, more bool) {
	for _, of := range slices.Backward(v.of.versions) {
		if r := v.st.contents.get(of.Hash); r != nil && !of.Removed {
			return origin.Of(r.TypeURL, r.Body, origin.Most)
		}
	}
	return nil, false
}

func (v *versionsView) compare(s history.Step) (*diff.Result, error) {
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

func (v *versionsView) json(steps []history.Step) error {
	out := &render.ResourceDiff{
		Schema: render.Schema, Type: v.of.typ, Name: v.name, Clients: v.clients, Versions: render.NewVersions(v.of.versions), Steps: []render.StepJSON{},
	}
	out.Sources, out.MoreSources = v.sources()
	for _, s := range steps {
		r, err := v.compare(s)
		if err != nil {
			return err
		}
		out.Steps = append(out.Steps, render.NewStep(uint64(v.of.versions[s.From].Seq), uint64(v.of.versions[s.To].Seq), r))
	}
	return v.JSON(out)
}

// text prints what is compared, the table, and the difference.
func (v *versionsView) text(steps []history.Step) error {
	w := bufio.NewWriter(v.Stdout)
	style := v.Style()
	marks := map[int]byte{}
	head := fmt.Sprintf("%s %s of %s", v.of.typ, render.Safe(v.name), render.Safe(clientText(v.clients)))
	switch {
	case len(steps) == 1 && !v.All:
		marks[steps[0].From], marks[steps[0].To] = '-', '+'
		head += ": " + v.stepText(steps[0])
	case len(v.of.versions) == 1:
		head += ": one version, so nothing to compare"
	default:
		head += ": " + render.Count(len(v.of.versions), "version", "versions")
	}
	list, more := v.sources()
	if from := render.MadeFrom(list, more, render.FewSources); from != "" {
		head += "\n" + from
	}
	table := render.VersionsText(v.of.versions, 0, marks, style, v.Columns())
	if _, err := fmt.Fprintf(w, "%s\n\n%s", head, table); err != nil {
		return err
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
func (v *versionsView) stepText(s history.Step) string {
	one := func(n int) string {
		of := &v.of.versions[n]
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
			if later := slices.ContainsFunc(v.of.versions[n+1:], func(l history.Version) bool { return l.State == engine.Acked }); !later {
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
