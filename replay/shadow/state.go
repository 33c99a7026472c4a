package shadow

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Numbers of fields of responses; those of both variants are the same, but for
// the type, which is 4 in both, and the version.
const (
	versionOfResponse   = 1
	resourcesOfResponse = 2
	typeOfResponse      = 4
	nonceOfResponse     = 5
)

// rawKey is a content as it was sent: in an envelope of delta or not.
type rawKey struct {
	delta bool
	name  string
	hash  [16]byte
}

func isDelta(m xds.Method) bool {
	return m.Variant == xds.VariantDelta || m.Variant == xds.VariantDeltaADS
}

// keep keeps the resources of a response as they were sent.
func (p *pushes) keep(n *engine.Response, data []byte) {
	m, delta := n.Message, n.Kind == decode.DeltaResponse
	var raw [][]byte
	for s := protoscan.Of(data); s.Next(); {
		if s.Num == resourcesOfResponse && s.Type == protowire.BytesType {
			raw = append(raw, s.Body)
		}
	}
	if len(raw) != len(m.Resources) {
		return
	}
	contents(n, func(i int, it *engine.Resource) {
		key := rawKey{delta, it.Name, it.Content.Facts.Hash}
		if _, have := p.raws.Get(key); !have {
			p.raws.Put(key, bytes.Clone(raw[i]), int64(len(raw[i])+len(it.Name))+128, mostState)
		}
	})
}

// state gives a guest what the recorded client has of a type, once it accepts all
// that it has not answered: all of it, or what was added.
func (p *pushes) state(g *guest, of *engine.Subscription, all bool, added []string) {
	delta := isDelta(g.method)
	for i, n := range added {
		added[i] = decode.NormalName(n)
	}
	what := given{}
	var resources [][]byte
	version, met := "", false
	for id, st := range p.streams {
		live := p.k.Streams[id]
		if live == nil || st.client != g.client || st.method.Path != g.method.Path || live.Subs[of.Key] == nil {
			continue
		}
		sub := live.Subs[of.Key]
		if n := sub.Newest(); n != nil {
			met, version = true, n.Version
		}
		all := all || sub.Whole() && !delta
		what.typ = sub.Type
		for it := range sub.Taken() {
			if it.Content == nil || !of.Wants(it.Name) || !all && !slices.Contains(added, it.Name) || slices.Contains(what.names, it.Name) {
				continue
			}
			raw, have := p.raws.Get(rawKey{delta, it.Name, it.Content.Facts.Hash})
			if !have {
				p.once(Noted, "%s %q is not given: its content was let go (more than %d MiB of them)", bounded(sub.Type), bounded(it.Name), mostState>>20)
				continue
			}
			what.names, resources = append(what.names, it.Name), append(resources, raw)
		}
	}
	if !met || len(resources) == 0 && !of.Everything() {
		return // it waits for what comes
	}
	out := protowire.AppendString(protowire.AppendTag(nil, versionOfResponse, protowire.BytesType), version)
	for _, r := range resources {
		out = protowire.AppendBytes(protowire.AppendTag(out, resourcesOfResponse, protowire.BytesType), r)
	}
	out = protowire.AppendString(protowire.AppendTag(out, typeOfResponse, protowire.BytesType), of.URL)
	p.give(g, out, what)
}

// withNonce is a response with another nonce.
func withNonce(data []byte, nonce string) []byte {
	out := make([]byte, 0, len(data)+len(nonce)+8)
	for s := protoscan.Of(data); s.Next(); {
		if s.Num != nonceOfResponse {
			out = append(out, s.Raw()...)
		}
	}
	return protowire.AppendString(protowire.AppendTag(out, nonceOfResponse, protowire.BytesType), nonce)
}
