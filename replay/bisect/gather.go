package bisect

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// excerpt is resources of a response, as an engine knows them: the hash of their
// content by name, "" for those that have none.
type excerpt map[string][16]byte

// has says whether a resource is among them.
func (x excerpt) has(r *decode.Resource) bool {
	_, is := x[decode.NormalName(r.Name)]
	return is
}

// findHeld finds what the client held when it rejected the response, and which
// entries of the recording have that.
func (r *Rejection) findHeld(ctx context.Context, src replay.Source) (map[session.Seq]excerpt, error) {
	in := map[session.Seq]excerpt{}
	need := func(seq session.Seq, name string, hash [16]byte) {
		if in[seq] == nil {
			in[seq] = excerpt{}
		}
		in[seq][name] = hash
	}
	k := engine.New(engine.Options{})
	err := walk(ctx, src, func(e *session.Entry) error {
		c := k.Step(e)
		if e.Seq != r.NACK {
			return nil
		}
		if c.Sub == nil {
			return fmt.Errorf("entry %d cannot be read again", r.NACK)
		}
		r.key, r.delta, r.base = c.Sub.Key, c.Stream.Delta(), r.holdings(c.Sub)
		for s := range k.TypesOf(c.Stream) {
			same := s.Key == r.key
			if !s.Stream.Discovery() || same && s != c.Sub && s.Whole() && s.Stream.Alive() {
				continue
			}
			held := s.Taken() // of other types what was not answered yet counts as accepted
			if same {
				held = s.Held()
			}
			h := r.holdings(s)
			for it := range held {
				if h.accepted = true; it.Content != nil {
					need(it.Seq, it.Name, it.Content.Facts.Hash)
				}
			}
			if s.Accepted != nil {
				h.accepted = true
				need(s.Accepted.Seq, "", [16]byte{})
			}
		}
		return io.EOF
	})
	if err == nil && r.base == nil {
		err = fmt.Errorf("entry %d cannot be read again", r.NACK)
	}
	return in, err
}

// holdings are those of a type, none at first.
func (r *Rejection) holdings(s *engine.Subscription) *holdings {
	h := r.has[s.Key]
	if h == nil {
		h = &holdings{typeURL: cmp.Or(s.URL, xds.TypeURL(s.Key)), whole: s.Whole(), items: map[string]*held{}}
		r.has[s.Key] = h
	}
	return h
}

// mostHeld bounds what is kept of what a client held, in bytes.
const mostHeld = 512 << 20

// gathering reads what a client held, and what it rejected.
type gathering struct {
	r        *Rejection
	in       *inspect.Inspector
	held     map[session.Seq]excerpt // see Rejection.findHeld
	rejected []*held
	removed  []string
	read     bool // rejected
	bytes    int64
}

// step takes the next entry and what it means.
func (g *gathering) step(e *session.Entry, c *engine.Change) error {
	m, r := c.Message, g.r
	if m == nil || !m.Response() || c.Sub == nil {
		return nil
	}
	whole := e.Message.Whole()
	if e.Seq == r.Response {
		if !whole {
			return fmt.Errorf("entry %d was recorded in part: it cannot be sent again", e.Seq)
		}
		list, err := elements(g.in, m, e.Message, func(*decode.Resource) bool { return true })
		if err != nil {
			return fmt.Errorf("entry %d: %w", e.Seq, err)
		}
		g.rejected, g.removed, g.read = list, m.Removed, true
	}
	here := g.held[e.Seq]
	h := r.has[c.Sub.Key]
	// What came later is given to a client that asks for it now: it may ask for
	// more than the recorded one did by then.
	later := e.Seq > r.NACK && c.Client == r.Client && replay.Streamed(c.Method) && c.Sub.Key != r.key
	if later {
		h = r.holdings(c.Sub)
	}
	if !whole || h == nil || !later && here == nil {
		return nil
	}
	list, _ := elements(g.in, m, e.Message, func(res *decode.Resource) bool { // without those that cannot be sent
		return later && h.items[res.Name+res.Constraints] == nil || here.has(res)
	})
	for _, it := range list {
		if hash, named := here[decode.NormalName(it.name)]; named && hash != it.hash {
			continue // the name comes twice
		}
		if err := g.put(h, it); err != nil {
			return err
		}
	}
	return nil
}

func (g *gathering) put(h *holdings, it *held) error {
	g.bytes += int64(len(it.raw))
	if old := h.items[it.name]; old != nil {
		g.bytes -= int64(len(old.raw))
	}
	if g.bytes > mostHeld {
		return fmt.Errorf("the client holds more than %d MiB of resources: too much to bisect", mostHeld>>20)
	}
	h.put(it)
	return nil
}
