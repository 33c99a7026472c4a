package format

import (
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

// codec passes over the fields of a small message, in either direction, so that
// each of them is named once: it writes them, or takes the one that in is.
type codec struct {
	in  *protoscan.Field // nil: they are written
	out []byte
	err error
}

// encode appends a message as a field; nothing if v is nil.
func encode[T any](b []byte, num protowire.Number, v *T, fields func(*codec, *T)) []byte {
	if v == nil {
		return b
	}
	return appendNested(b, num, func(b []byte) []byte {
		c := codec{out: b}
		fields(&c, v)
		return c.out
	})
}

// decode reads the fields of a message into v.
func decode[T any](b []byte, v *T, fields func(*codec, *T)) (*T, error) {
	return v, eachField(b, func(f protoscan.Field) error {
		c := codec{in: &f}
		fields(&c, v)
		return c.err
	})
}

func (c *codec) takes(num protowire.Number) bool { return c.in != nil && c.in.Num == num }

// number says whether it has read the field.
func number[T ~int | ~uint32 | ~uint64](c *codec, num protowire.Number, v *T) (read bool) {
	if c.in == nil {
		c.out = appendUint(c.out, num, uint64(*v))
	}
	if read = c.takes(num); read {
		*v = T(c.in.Uint)
	}
	return read
}

func text[T ~string](c *codec, num protowire.Number, v *T) {
	if c.in == nil {
		c.out = appendString(c.out, num, string(*v))
	} else if c.takes(num) {
		*v = T(c.in.Body)
	}
}

func (c *codec) flag(num protowire.Number, v *bool) {
	if c.in == nil {
		c.out = appendBool(c.out, num, *v)
	} else if c.takes(num) {
		*v = c.in.Uint != 0
	}
}

func (c *codec) time(num protowire.Number, v *time.Time) {
	if c.in == nil {
		c.out = appendTime(c.out, num, *v)
	} else if c.takes(num) {
		*v = timeOf(c.in.Uint)
	}
}

// The fields of small messages; docs/format.md has the tables.

func (c *codec) fileHeader(h *FileHeader) {
	c.time(1, &h.Created)
	text(c, 2, &h.Program)
	c.flag(3, &h.Masked)
	number(c, 4, &h.Segment)
	number(c, 5, &h.First)
	c.time(6, &h.Began)
	number(c, 7, &h.DescriptorBytes)
}

func (c *codec) peer(p *session.Peer) {
	text(c, 1, &p.Client)
	text(c, 2, &p.Listen)
	text(c, 3, &p.Upstream)
	text(c, 4, &p.Local)
	c.tls(5, &p.ClientTLS)
	c.tls(6, &p.ServerTLS)
}

func (c *codec) tls(num protowire.Number, t **session.TLS) {
	if c.in == nil {
		c.out = encode(c.out, num, *t, (*codec).tlsFields)
	} else if c.takes(num) {
		*t, c.err = decode(c.in.Body, new(session.TLS), (*codec).tlsFields)
	}
}

// maxIdentities bounds the names of a certificate that are read. The proxy
// writes fewer.
const maxIdentities = 64

func (c *codec) tlsFields(t *session.TLS) {
	text(c, 1, &t.Version)
	text(c, 2, &t.Cipher)
	text(c, 3, &t.ALPN)
	text(c, 4, &t.ServerName)
	if c.in == nil {
		for _, id := range t.Identities {
			c.out = protowire.AppendString(protowire.AppendTag(c.out, 5, protowire.BytesType), id)
		}
	} else if c.takes(5) && len(t.Identities) < maxIdentities {
		t.Identities = append(t.Identities, string(c.in.Body))
	}
	text(c, 6, &t.Issuer)
	c.time(7, &t.NotAfter)
	c.flag(8, &t.Verified)
	c.flag(9, &t.Resumed)
}

func (c *codec) status(s *session.Status) {
	code := protowire.EncodeZigZag(int64(s.Code))
	if number(c, 1, &code) {
		s.Code = int32(protowire.DecodeZigZag(code))
	}
	text(c, 2, &s.Message)
	number(c, 3, &s.Reset)
	c.flag(4, &s.WasReset)
	number(c, 5, &s.HTTP)
}

func (c *codec) goAway(g *session.GoAway) {
	number(c, 1, &g.LastStream)
	number(c, 2, &g.Code)
	text(c, 3, &g.Debug)
}

func (c *codec) gap(g *session.Gap) {
	number(c, 1, &g.First)
	number(c, 2, &g.Last)
	number(c, 3, &g.Entries)
	bytes := uint64(g.Bytes)
	if number(c, 4, &bytes) {
		g.Bytes = int64(bytes)
	}
	if c.in == nil {
		c.out = appendPacked(c.out, 5, g.Streams)
	} else if c.takes(5) {
		g.Streams, c.err = parsePacked(g.Streams, c.in.Body, MaxGapStreams)
	}
	cause := uint64(g.Cause)
	if number(c, 6, &cause) {
		g.Cause = session.GapCause(min(cause, math.MaxUint8))
	}
}

func (c *codec) note(n *session.Note) {
	text(c, 1, &n.Code)
	text(c, 2, &n.Text)
	text(c, 3, &n.Hint)
	number(c, 4, &n.About)
}

func (c *codec) held(h *session.Held) {
	text(c, 1, &h.Node)
	text(c, 2, &h.Source)
	text(c, 3, &h.Address)
	c.flag(4, &h.Whole)
	text(c, 5, &h.Failed)
}

// appendPacked appends numbers as one field; nothing if there are none.
func appendPacked[T ~uint64](b []byte, num protowire.Number, list []T) []byte {
	if len(list) == 0 {
		return b
	}
	return appendNested(b, num, func(b []byte) []byte {
		for _, n := range list {
			b = protowire.AppendVarint(b, uint64(n))
		}
		return b
	})
}

// parsePacked appends the numbers of such a field, until there are as many as most.
func parsePacked[T ~uint64](list []T, b []byte, most int) ([]T, error) {
	for len(b) > 0 && len(list) < most {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return list, errWire
		}
		list, b = append(list, T(v)), b[n:]
	}
	return list, nil
}
