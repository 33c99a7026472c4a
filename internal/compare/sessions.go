package compare

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// holder is what the clients of one recording accepted last.
type holder struct {
	engine.Holdings
	name     string
	contents contents // of the resource that was named, or what has masks in it
	made     made
	names    survey
	unread   int // responses that are not there whole, or too large to decode
}

func (c *Comparison) readHoldings(ctx context.Context, source, name string) (*holder, error) {
	src, err := c.Open(source)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	heap.Lean()
	h := &holder{name: src.Name, contents: contents{limit: maxContents}, names: newSurvey()}
	k := check.NewChecker(check.Options{Rules: []*check.Rule{}, Past: 1 << 30, Types: c.Types})
	err = c.Each(ctx, src, k, func(e *session.Entry, c *check.Change) error {
		if e.Kind == session.KindMessage && e.Side == session.Server && e.Message != nil && !e.Message.Whole() {
			h.unread++
		}
		if c.Message == nil || !c.Message.Response() {
			return nil
		}
		h.made.see(c)
		if name != "" {
			h.names.see(c)
		}
		if name != "" || e.Message.Masked {
			h.contents.see(c, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if h.Holdings = k.Holdings(); k.Memory().Forgotten > 0 {
		c.Warn("%s has more clients than can be compared", h.name)
	}
	return h, nil
}

// Sessions compares what clients accepted last in two recordings.
func (c *Comparison) Sessions(ctx context.Context, sourceA, sourceB, name string) error {
	if sourceA == "-" && sourceB == "-" {
		return console.Misused("standard input can only be one of the two recordings")
	}
	one, err := c.readHoldings(ctx, sourceA, name)
	if err != nil {
		return err
	}
	other, err := c.readHoldings(ctx, sourceB, name)
	if err != nil {
		return err
	}
	s := &sessions{f: c, a: one, b: other, name: name, style: c.Style()}
	out := &render.SessionsDiff{Schema: render.Schema, A: one.name, B: other.name, Same: true, Clients: []render.ClientDiff{}}
	pairs, err := s.pairs()
	if err != nil {
		return err
	}
	for _, p := range pairs {
		if c := s.client(p); len(c.Types) > 0 {
			out.Clients = append(out.Clients, c)
		}
	}
	if name != "" && len(out.Clients) == 0 {
		maps.Copy(one.names.names, other.names.names)
		return one.names.missing(name, sourceA)
	}
	out.Same, out.Masked, out.Unread, out.Unkept = !s.differs, s.masked, one.unread+other.unread, s.unkept
	if s.unkept > 0 {
		c.Warn("the contents are more than fit into memory: what differs in %s is not known, and may be masks only", render.Count(s.unkept, "resource", "resources"))
	}
	for _, h := range []*holder{one, other} {
		if h.unread > 0 {
			c.Warn("%s of %s cannot be read whole: what clients accepted of that is not compared", render.Count(h.unread, "response", "responses"), h.name)
		}
	}
	c.Differs = s.differs
	if c.Output == "json" {
		return c.JSON(out)
	}
	if len(out.Clients) == 0 {
		if out.Unread == 0 {
			c.Say("no client accepted anything in either recording")
		}
		return nil
	}
	w := bufio.NewWriter(c.Stdout)
	if _, err := io.WriteString(w, out.Text(s.style)); err != nil {
		return err
	}
	for _, d := range s.contents {
		fmt.Fprintf(w, "\n%s\n", d.title)
		if err := c.printResult(w, d.result); err != nil {
			return err
		}
	}
	if out.Masked > 0 {
		fmt.Fprintf(w, "\nwhat is masked was not compared: %s, in %s\n",
			render.Count(out.Masked, "value", "values"), render.Count(s.veiled, "resource", "resources"))
	}
	if !s.differs {
		fmt.Fprintf(w, "\nnothing that a client accepted last%s differs\n", map[bool]string{true: ", and that can be read,"}[out.Unread > 0])
	} else if name == "" && !c.All {
		fmt.Fprintf(w, "\n--all lists the resources; a NAME behind the recordings shows what differs in it\n")
	}
	return w.Flush()
}

// clientPair is a client by its node ids in both recordings, and where it is.
type clientPair struct {
	a, b     string
	inA, inB bool
}

// pairs matches clients by node id. If each recording has one client, they are
// matched whatever they are called.
func (s *sessions) pairs() ([]clientPair, error) {
	as, bs := s.a.Clients(), s.b.Clients()
	if s.f.Client != "" {
		var all []engine.ClientStatus
		ids := append(slices.Clone(as), bs...)
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			all = append(all, engine.ClientStatus{Client: id})
		}
		id, err := input.OneClient(all, s.f.Client)
		if err != nil {
			return nil, err
		}
		return []clientPair{{id, id, slices.Contains(as, id), slices.Contains(bs, id)}}, nil
	}
	if len(as) == 1 && len(bs) == 1 {
		return []clientPair{{as[0], bs[0], true, true}}, nil
	}
	has := func(sorted []string, id string) bool {
		_, ok := slices.BinarySearch(sorted, id)
		return ok
	}
	var out []clientPair
	for _, id := range as {
		out = append(out, clientPair{id, id, true, has(bs, id)})
	}
	for _, id := range bs {
		if !has(as, id) {
			out = append(out, clientPair{id, id, false, true})
		}
	}
	slices.SortFunc(out, func(x, y clientPair) int { return strings.Compare(x.a, y.a) })
	return out, nil
}
