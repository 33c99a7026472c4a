package script

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
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
	eachField(b, func(num protowire.Number, typ protowire.Type, _, body []byte) {
		switch {
		case typ != protowire.BytesType:
		case num == 1:
			url = body
		case num == 2:
			value = body
		}
	})
	return url, value
}

// mapField replaces the body of each field of a number.
func mapField(b []byte, num protowire.Number, by func([]byte) []byte) []byte {
	var out []byte
	rest := eachField(b, func(n protowire.Number, typ protowire.Type, all, body []byte) {
		if n == num && typ == protowire.BytesType {
			out = protowire.AppendBytes(protowire.AppendTag(out, n, typ), by(body))
		} else {
			out = append(out, all...)
		}
	})
	return append(out, rest...)
}

// eachField calls field for every field, with all of it and with the body of one
// that has a length. It returns what is no field.
func eachField(b []byte, field func(num protowire.Number, typ protowire.Type, all, body []byte)) []byte {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return b
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return b
		}
		var body []byte
		if typ == protowire.BytesType {
			body, _ = protowire.ConsumeBytes(b[n:])
		}
		field(num, typ, b[:n+m], body)
		b = b[n+m:]
	}
	return nil
}

// nameless says of each resource of a response whether its wrapper has no name.
func nameless(k decode.Kind, data []byte) (out []bool) {
	eachField(data, func(num protowire.Number, typ protowire.Type, _, body []byte) {
		if num != 2 || typ != protowire.BytesType {
			return
		}
		if k != decode.DeltaResponse {
			_, body = anyOf(body)
		}
		named := false
		eachField(body, func(num protowire.Number, _ protowire.Type, _, body []byte) {
			named = named || (num == 3 || num == 8) && len(body) > 0
		})
		out = append(out, !named)
	})
	return out
}

// same says whether two messages of a type mean the same.
func (c *contents) same(name string, a, b []byte, masked bool) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return c.inspector.Inspect(name, a, masked).Hash == c.inspector.Inspect(name, b, masked).Hash
}
