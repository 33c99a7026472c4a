package script

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// frame is a response without the payloads of its resources: of each remains its
// type. Two responses with equal frames differ in their payloads only.
func frame(k decode.Kind, data []byte) []byte {
	return mapField(data, 2, func(b []byte) []byte {
		if k == decode.DeltaResponse {
			return wrapperFrame(b)
		}
		url, value := anyOf(b)
		if xds.IsWrapper(string(url)) {
			return appendAny(url, wrapperFrame(value))
		}
		return appendAny(url, nil)
	})
}

// wrapperFrame is a Resource without the value of its payload.
func wrapperFrame(b []byte) []byte {
	return mapField(b, 2, func(b []byte) []byte {
		url, _ := anyOf(b)
		return appendAny(url, nil)
	})
}

func appendAny(url, value []byte) []byte {
	out := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), url)
	if len(value) > 0 {
		out = protowire.AppendBytes(protowire.AppendTag(out, 2, protowire.BytesType), value)
	}
	return out
}

func anyOf(b []byte) (url, value []byte) {
	for s := protoscan.Of(b); s.Next(); {
		switch body, ok := s.Bytes(); {
		case !ok:
		case s.Num == 1:
			url = body
		case s.Num == 2:
			value = body
		}
	}
	return url, value
}

// mapField replaces the body of each field of a number.
func mapField(b []byte, num protowire.Number, by func([]byte) []byte) []byte {
	var out []byte
	s := protoscan.Of(b)
	for s.Next() {
		if body, ok := s.Bytes(); ok && s.Num == num {
			out = protowire.AppendBytes(protowire.AppendTag(out, s.Num, s.Type), by(body))
		} else {
			out = append(out, s.Raw()...)
		}
	}
	return append(out, s.Rest()...) // what is no field
}

// nameless says of each resource of a response whether its wrapper has no name.
func nameless(k decode.Kind, data []byte) (out []bool) {
	for s := protoscan.Of(data); s.Next(); {
		body, ok := s.Bytes()
		if !ok || s.Num != 2 {
			continue
		}
		if k != decode.DeltaResponse {
			_, body = anyOf(body)
		}
		named := false
		for r := protoscan.Of(body); r.Next(); {
			named = named || (r.Num == 3 || r.Num == 8) && len(r.Body) > 0
		}
		out = append(out, !named)
	}
	return out
}

// same says whether two messages of a type mean the same.
func (c *contents) same(name string, a, b []byte, masked bool) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return c.inspector.Inspect(name, a, masked).Hash == c.inspector.Inspect(name, b, masked).Hash
}
