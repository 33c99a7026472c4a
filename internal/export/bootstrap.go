package export

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert/standalone"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/replay/premise"
	"github.com/xdsproxy/xdsproxy/replay/standin"
	"github.com/xdsproxy/xdsproxy/session"
)

// mostPast is how many bytes are remembered of clients that left.
const mostPast = 1 << 30

// bootstrap writes what a client accepted last as the bootstrap of an Envoy that
// asks nobody.
func (x *Export) bootstrap(ctx context.Context) error {
	of, id, err := x.accepted(ctx)
	if err != nil {
		return err
	}
	pairs, total := standin.New(), 0
	of.Pair = pairs.Pair
	var notes []string
	for _, typ := range standalone.Types() {
		for _, r := range of.Resources[typ] {
			total++
			body, said := pairs.RenewResource(r.TypeURL, r.Body)
			r.Body, notes = body, append(notes, said...)
		}
	}
	doc, said := standalone.Make(of)
	out := render.EscapeJSON(doc.JSON())
	if ext := filepath.Ext(x.Path); ext == ".yaml" || ext == ".yml" {
		out = []byte(render.SafeLines(string(doc.YAML())))
	}
	if x.Path == "" || x.Path == "-" {
		_, err = x.Stdout.Write(out)
	} else {
		err = writeNew(x.Path, out)
	}
	if err != nil {
		return console.Overwriting("cannot write the bootstrap", err)
	}
	for _, n := range append(notes, said...) {
		x.Warn("%s", n)
	}
	if x.Path == "" || x.Path == "-" {
		return nil
	}
	x.Say("wrote %s that %s accepted to %s, %s", render.Count(uint64(total), "resource", "resources"), id, x.Path, render.Size(int64(len(out))))
	x.Say("listeners are at their recorded addresses; run it with: envoy -c %s --admin-address-path admin.txt", console.ShellWord(x.Path))
	return nil
}

// accepted reads what a client accepted last, and the id of its node.
func (x *Export) accepted(ctx context.Context) (*standalone.Client, string, error) {
	src, err := x.Open(x.Name)
	if err != nil {
		return nil, "", err
	}
	defer src.Close()
	x.lean()
	masked := src.Header().Masked || src.Script
	observer := premise.Observe(nil)
	account := check.NewChecker(check.Options{Rules: []*check.Rule{}, Past: mostPast})
	err = x.Each(ctx, src, &input.Staying{Stepper: account}, func(e *session.Entry, _ *check.Change) error {
		observer.See(e)
		x.last = e.Seq
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	id, err := input.OneClient(account.Status(), x.Client)
	if err != nil {
		return nil, "", err
	}
	if account.Memory().Forgotten > 0 {
		x.Warn("%s has more clients than can be remembered", x.Name)
	}
	before, _ := observer.Client(id)
	if before.GRPC {
		return nil, "", console.Failed("%q is a program of gRPC, and a bootstrap with resources is Envoy's", id)
	}
	if !masked {
		x.Warn("secrets in it are not masked; mask them first: xdsproxy export %s --mask -w masked.xdsp", console.ShellWord(x.Name))
	}
	of := &standalone.Client{Node: before.Node, Resources: map[string][]*decode.Resource{}}
	for _, c := range before.Clusters {
		of.Clusters = append(of.Clusters, c.Name)
	}
	wanted := map[session.Seq][]engine.Held{}
	for h := range account.Held(id) {
		wanted[h.Seq] = append(wanted[h.Seq], h)
	}
	var others []string
	again, err := x.Open(x.Name)
	if err != nil {
		return nil, "", err
	}
	defer again.Close()
	found := map[engine.Held]bool{}
	err = x.Each(ctx, again, check.NewTracker(x.Types), func(e *session.Entry, c *check.Change) error {
		for _, h := range wanted[e.Seq] {
			switch r := c.Resource(h.Name); {
			case r == nil || found[h]:
			case !slices.Contains(standalone.Types(), h.Type):
				if found[h] = true; !slices.Contains(others, h.Type) {
					others = append(others, h.Type)
				}
			default:
				found[h] = true
				of.Resources[h.Type] = append(of.Resources[h.Type], &decode.Resource{Name: h.Name, TypeURL: r.TypeURL, Body: bytes.Clone(r.Body)})
			}
		}
		if e.Seq >= x.last {
			return input.ErrEnough
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	for _, typ := range others {
		x.Warn("%s has no place in a bootstrap: it is left out", typ)
	}
	for _, seq := range slices.Sorted(maps.Keys(wanted)) {
		for _, h := range wanted[seq] {
			if !found[h] {
				x.Warn("%s %q is not in the recording any more: it is left out", h.Type, h.Name)
			}
		}
	}
	return of, id, nil
}

// writeNew writes a file that is not there yet, or none.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
