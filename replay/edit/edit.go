package edit

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// The numbers of the fields that are edited or written, of
// envoy.service.discovery.v3, and of google.rpc.Status; version 2 has the same.
const (
	NonceOfResponse      = 5 // in both variants
	VersionOfRequest     = 1
	NonceOfRequest       = 5
	NamesOfRequest       = 3 // in both variants
	TypeOfRequest        = 4
	ErrorOfRequest       = 6
	TypeOfDeltaRequest   = 2
	initialOfDelta       = 5
	NonceOfDeltaRequest  = 6
	ErrorOfDeltaRequest  = 7
	CodeOfStatus         = 1
	MessageOfStatus      = 2
	ResourcesOfResponse  = 2 // in both variants
	ResourceOfWrapper    = 2
	initialVersionsKey   = 1
	initialVersionsValue = 2
	VersionOfResponse    = 1
	TypeOfResponse       = 4
	RemovedOfDelta       = 6
	NameOfWrapper        = 3
	VersionOfWrapper     = 1
	TypeOfAny            = 1
	ValueOfAny           = 2
	NameOfEndpoints      = 1 // of a ClusterLoadAssignment
)

// Set says for some fields of a message what to put in their place: the new
// value of a string field, which leaves the message if that is empty.
type Set map[protowire.Number]string

// Apply returns a copy of a message with string fields set. All other fields,
// unknown ones included, stay as they are and where they are; a field that was
// not there is added at the end. It returns false if the bytes are no message.
func (ed Set) Apply(data []byte) ([]byte, bool) {
	size := len(data)
	for _, v := range ed {
		size += len(v) + 16
	}
	out := make([]byte, 0, size)
	done := map[protowire.Number]bool{}
	ok := Each(data, func(num protowire.Number, typ protowire.Type, raw, _ []byte) {
		v, is := ed[num]
		switch {
		case !is || typ != protowire.BytesType:
			out = append(out, raw...)
		case !done[num]:
			done[num] = true
			out = AppendString(out, num, v)
		}
	})
	for num, v := range ed {
		if !done[num] {
			out = AppendString(out, num, v)
		}
	}
	return out, ok
}

func AppendString(out []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return out
	}
	return protowire.AppendString(protowire.AppendTag(out, num, protowire.BytesType), v)
}

// Each calls f for each field of a message: with all of its bytes, and the
// body of one that has a length. It returns false where the bytes make no sense.
func Each(data []byte, f func(num protowire.Number, typ protowire.Type, raw, body []byte)) bool {
	s := protoscan.Of(data)
	for s.Next() {
		f(s.Num, s.Type, s.Raw(), s.Body)
	}
	return s.Err == ""
}

// Rewrite returns a copy of a message in which change has replaced the bodies
// of field num.
func Rewrite(data []byte, num protowire.Number, change func(body []byte) []byte) ([]byte, bool) {
	out := make([]byte, 0, len(data)+64)
	ok := Each(data, func(n protowire.Number, typ protowire.Type, raw, body []byte) {
		if n != num || typ != protowire.BytesType {
			out = append(out, raw...)
			return
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, n, typ), change(body))
	})
	return out, ok
}

// InitialVersions replaces the versions of resources that a delta client
// declares by those that of returns, where it knows one.
func InitialVersions(data []byte, of func(name string) (string, bool)) ([]byte, bool) {
	return Rewrite(data, initialOfDelta, func(entry []byte) []byte {
		name := ""
		Each(entry, func(num protowire.Number, typ protowire.Type, _, body []byte) {
			if num == initialVersionsKey && typ == protowire.BytesType {
				name = string(body)
			}
		})
		version, known := of(name)
		if !known {
			return entry
		}
		out, ok := Set{initialVersionsValue: version}.Apply(entry)
		if !ok {
			return entry
		}
		return out
	})
}

// Field is the body of a field of a message, nil if it is not there.
func Field(data []byte, num protowire.Number) (out []byte) {
	Each(data, func(n protowire.Number, typ protowire.Type, _, body []byte) {
		if n == num && typ == protowire.BytesType {
			out = body
		}
	})
	return out
}
