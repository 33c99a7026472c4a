package index

import (
	"context"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// maxCarriers bounds the responses that are read to find one.
const maxCarriers = 2000

// Carrier is the newest response to a client that has a resource, 0 if none of
// the newest has it.
func (f *Fetcher) Carrier(ctx context.Context, client, typ, name string) session.Seq {
	for _, seq := range f.index.responses(client, typ, maxCarriers) {
		f.mu.Lock()
		e, err := f.read(ctx, seq)
		f.mu.Unlock()
		if err != nil {
			if ctx.Err() != nil {
				return 0
			}
			continue
		}
		c := f.index.understand(e).Change
		if slices.ContainsFunc(c.Names(), func(n string) bool { return decode.NormalName(n) == name }) {
			return seq
		}
	}
	return 0
}

// responses are those of a type to a client, the newest first.
func (x *Index) responses(client, typ string, most int) []session.Seq {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var out []session.Seq
	for i, n := x.n-1, 0; i >= 0 && n < maxWalk && len(out) < most; i, n = i-1, n+1 {
		if r := x.row(i); r.What.Response() && x.kinds.list[r.typ] == typ && x.clientOf(r) == client {
			out = append(out, r.Seq)
		}
	}
	return out
}
