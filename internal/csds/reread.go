package csds

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// rereader gets from the recording what an answer has beside the account. What it
// does not find stays out.
type rereader struct {
	open   func() (Reader, error)
	wanted map[session.Seq]*page
}

// page is an entry that is read again, and who wants something of it.
type page struct {
	method xds.Method // of its stream
	takers []func(*found) error
}

// found is an entry that was read again.
type found struct {
	at     time.Time
	data   []byte
	m      decode.Message
	byName map[string]*decode.Resource
}

// stride is how many entries are rather read than jumped over.
const stride = 256

func newRereader(open func() (Reader, error)) *rereader {
	return &rereader{open: open, wanted: make(map[session.Seq]*page)}
}

func (r *rereader) want(seq session.Seq, m xds.Method, take func(*found) error) {
	if seq == 0 {
		return
	}
	if r.wanted[seq] == nil {
		r.wanted[seq] = &page{method: m}
	}
	r.wanted[seq].takers = append(r.wanted[seq].takers, take)
}

// read gives those who want something what is found of it, and wants nothing more.
func (r *rereader) read(ctx context.Context) error {
	seqs := slices.Sorted(maps.Keys(r.wanted))
	defer clear(r.wanted)
	if len(seqs) == 0 {
		return nil
	}
	from, err := r.open()
	if err != nil {
		return notRead(err)
	}
	defer func() { _ = from.Close() }() // nothing was written to it
	// What an earlier segment had and the first one repeats stands at its beginning:
	// one jumps only after that.
	at, jumps := session.Seq(0), true
	for carried := true; len(seqs) > 0; {
		if !carried && jumps && seqs[0] > at+stride {
			jumps = from.Seek(seqs[0]) == nil // else one reads on
		}
		e, err := from.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return status.FromContextError(ctx.Err()).Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return notRead(err)
		}
		if at = e.Seq; !e.Carried {
			carried = false
		}
		if p := r.wanted[at]; p != nil {
			if err := p.give(&e); err != nil {
				return err
			}
		}
		for len(seqs) > 0 && (!carried && seqs[0] <= at) {
			seqs = seqs[1:]
		}
	}
	return nil
}

// notRead says why the recording cannot be read again. A proxy that has gone may
// come back, and what is damaged does not heal.
func notRead(err error) error {
	code := codes.DataLoss
	_, remote := errors.AsType[*serve.Error](err)
	_, file := errors.AsType[*fs.PathError](err)
	if remote || file {
		code = codes.Unavailable
	}
	return status.Errorf(code, "the recording cannot be read again: %v", err)
}

// give reads an entry.
func (p *page) give(e *session.Entry) error {
	f := &found{at: e.Time}
	if m := e.Message; m != nil && m.Whole() {
		f.data = m.Data.Bytes()
		if decode.LooksLikeJSON(f.data) { // whose resources are no protobuf
			f.data = nil
		}
		f.m = decode.Peek(p.method, e.Side, "", f.data)
	}
	for _, take := range p.takers {
		if err := take(f); err != nil {
			return err
		}
	}
	return nil
}

// resource is what a response has of a name; nil if it does not.
func (f *found) resource(name string) *anypb.Any {
	if f.byName == nil {
		f.byName = make(map[string]*decode.Resource, len(f.m.Resources))
		for i := range f.m.Resources {
			r := &f.m.Resources[i]
			f.byName[decode.NormalName(r.Name)] = r
		}
	}
	if r := f.byName[name]; r != nil && !r.Empty {
		return &anypb.Any{TypeUrl: r.TypeURL, Value: bytes.Clone(r.Body)}
	}
	return nil
}

// node completes what is known of the node of a client.
func (r *rereader) node(c *client, left *budget) {
	r.want(c.at, c.method, func(f *found) error {
		num := protowire.Number(2) // of a DiscoveryRequest
		if f.m.Kind == decode.DeltaRequest {
			num = 1
		}
		raw, n := protoscan.Last(f.data, num), &corev3.Node{}
		if proto.Unmarshal(raw, n) == nil && n.Id == c.id {
			c.node, c.size = n, len(raw)
		}
		return left.take(c.size)
	})
}
