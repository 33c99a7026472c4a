package compare

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/configdump/compare"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// IsState says whether a file begins as the dump of an Envoy does, or an answer of
// CSDS in JSON.
func IsState(name string) bool {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 64<<10))
	return configdump.Is(head) || configdump.IsStatus(head)
}

// ConfigDump holds what a client accepted in a session against a dump of it.
func (c *Comparison) ConfigDump(ctx context.Context, source, name string) error {
	data, err := c.ReadFile(name, configdump.MaxBytes)
	if err != nil {
		return console.Failed("%w", err)
	}
	all, err := configdump.ReadAll(data)
	if err != nil {
		return console.Failed("%q: %w", name, err)
	}
	return c.Held(ctx, source, all, name)
}

// States are what clients say that they hold in a recording that has nothing else, such as
// an imported one; nil if it is another recording.
func (c *Comparison) States(ctx context.Context, name string) []*configdump.Dump {
	if name == "-" {
		return nil
	}
	src, err := c.Open(name)
	if err != nil {
		return nil // whoever reads it as a session says why
	}
	defer src.Close()
	var answers []decode.ClientStatus
	for {
		e, err := src.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return configdump.OfStatus(answers)
		case err != nil:
			return nil
		case e.Kind == session.KindHeld && e.Message != nil && e.Message.Whole() && e.Held != nil && e.Held.Failed == "":
			answers = append(answers, decode.PeekClientStatus(bytes.Clone(e.Message.Data.Bytes())))
		case e.Kind != session.KindNote && e.Kind != session.KindTime:
			return nil
		}
	}
}

// Held holds what a client accepted in a session against what clients say.
func (c *Comparison) Held(ctx context.Context, source string, all []*configdump.Dump, name string) error {
	if source == "-" {
		return console.Misused("a session is read twice to be held against what a client holds: write the recording to a file first")
	}
	dump, err := c.oneDump(all, name)
	if err != nil {
		return err
	}
	out, err := c.Dump(ctx, source, time.Time{}, dump, name, c.Client)
	if err != nil {
		return err
	}
	if out.Empty() {
		return console.Failed("nothing could be compared: %q has nothing that the client was sent", name).
			Hint("curl -s 'http://127.0.0.1:9901/config_dump?include_eds' > dump.json gets all of it")
	}
	out.Schema, out.Session = render.Schema, source
	if c.Type != "" {
		out.Types = slices.DeleteFunc(out.Types, func(t render.HeldType) bool { return t.Type != c.Type })
		out.Resources = slices.DeleteFunc(out.Resources, func(r render.HeldResource) bool { return r.Type != c.Type })
		out.NotDumped = slices.DeleteFunc(out.NotDumped, func(t string) bool { return t != c.Type })
		out.Same = !slices.ContainsFunc(out.Resources, func(r render.HeldResource) bool { return r.Difference })
	}
	c.Differs = !out.Same
	return c.Show(c.Output, out, func() string { return out.Text(c.Style(), c.Context) })
}

// oneDump is what is said of the client that was asked for. Where it is said of one
// only, that is the one.
func (c *Comparison) oneDump(all []*configdump.Dump, name string) (*configdump.Dump, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	var clients []engine.ClientStatus
	for _, d := range all {
		clients = append(clients, engine.ClientStatus{Client: d.Node})
	}
	if len(all) == 0 {
		return nil, console.Failed("%q has nothing of any client", name)
	}
	id, err := input.OneClient(clients, c.Client)
	if err != nil {
		return nil, err
	}
	return all[slices.IndexFunc(all, func(d *configdump.Dump) bool { return d.Node == id })], nil
}

// Dump reads a session, up to a moment if one is given, and compares. asked
// names the client; "" is the one with the node id of the dump, or the only one.
func (c *Comparison) Dump(ctx context.Context, source string, until time.Time, dump *configdump.Dump, name, asked string) (*render.HeldDiff, error) {
	held := map[compare.Name]bool{}
	for i := range dump.Resources {
		held[compare.Name{Type: dump.Resources[i].Type, Name: dump.Resources[i].Name}] = true
	}
	sent := map[string]map[compare.Name]bool{} // by client, of those that are held
	var origins made
	k := check.NewChecker(check.Options{Rules: []*check.Rule{}, Past: 1 << 30, Types: c.Types})
	if err := c.through(ctx, source, &input.Staying{Stepper: k}, func(e *session.Entry, c *check.Change) error {
		if !until.IsZero() && e.Time.After(until) {
			return input.ErrEnough
		}
		if c.Message == nil || !c.Message.Response() {
			return nil
		}
		origins.see(c)
		for _, n := range c.Names() {
			if of := (compare.Name{Type: c.Type, Name: decode.NormalName(n)}); held[of] {
				if sent[c.Client] == nil {
					sent[c.Client] = map[compare.Name]bool{}
				}
				sent[c.Client][of] = true
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	all := k.Status()
	if known := func(c engine.ClientStatus) bool { return c.Client == dump.Node }; asked == "" && slices.ContainsFunc(all, known) {
		asked = dump.Node
	}
	client, err := input.OneClient(all, asked)
	if err != nil {
		return nil, err
	}
	if k.Memory().Forgotten > 0 {
		c.Warn("%s has more clients than can be compared", source)
	}
	of := compare.Session{Engine: k.Engine, Client: client, Sent: sent[client], Bodies: func(needs []engine.Held) (map[engine.Held]*decode.Resource, error) {
		wanted := map[session.Seq][]engine.Held{}
		for _, h := range needs {
			wanted[h.Seq] = append(wanted[h.Seq], h)
		}
		found := map[engine.Held]*decode.Resource{}
		bytes, unkept := 0, 0
		err := c.through(ctx, source, check.NewTracker(c.Types), func(e *session.Entry, c *check.Change) error {
			for _, h := range wanted[e.Seq] {
				r := c.Resource(h.Name)
				switch {
				case r == nil:
				case bytes+len(r.Body) > maxContents:
					unkept++
				default:
					bytes += len(r.Body)
					found[h] = &decode.Resource{Name: r.Name, TypeURL: r.TypeURL, Body: slices.Clone(r.Body)}
				}
			}
			return nil
		})
		if unkept > 0 {
			c.Warn("the contents are more than fit into memory: what differs in %s is not known", render.Count(unkept, "resource", "resources"))
		}
		return found, err
	}}
	r, err := of.With(dump)
	if err != nil {
		return nil, err
	}
	out := render.NewHeldDiff(r, dump, name, client)
	for i := range r.Items { // in the order of out
		from := origins.of(r.Items[i].Accepted, r.Items[i].Held)
		out.Resources[i].Sources, out.Resources[i].MoreSources = from.list, from.more
	}
	return out, nil
}

// through reads a source to its end, or until f says that it is enough.
func (c *Comparison) through(ctx context.Context, source string, step input.Stepper, v input.Visit) error {
	src, err := c.Open(source)
	if err != nil {
		return err
	}
	defer src.Close()
	heap.Lean()
	return c.Each(ctx, src, step, v)
}
