package replay

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// The numbers of the fields that are edited or written, of
// envoy.service.discovery.v3, and of google.rpc.Status; version 2 has the same.
const (
	nonceOfResponse      = 5 // in both variants
	versionOfRequest     = 1
	nonceOfRequest       = 5
	namesOfRequest       = 3 // in both variants
	typeOfRequest        = 4
	errorOfRequest       = 6
	typeOfDeltaRequest   = 2
	initialOfDelta       = 5
	nonceOfDeltaRequest  = 6
	errorOfDeltaRequest  = 7
	codeOfStatus         = 1
	messageOfStatus      = 2
	resourcesOfResponse  = 2 // in both variants
	resourceOfWrapper    = 2
	initialVersionsKey   = 1
	initialVersionsValue = 2
	versionOfResponse    = 1
	typeOfResponse       = 4
	removedOfDelta       = 6
	nameOfWrapper        = 3
	versionOfWrapper     = 1
	typeOfAny            = 1
	valueOfAny           = 2
	nameOfEndpoints      = 1 // of a ClusterLoadAssignment
)

// edits says for some fields of a message what to put in their place: the new
// value of a string field, which leaves the message if that is empty.
type edits map[protowire.Number]string

// apply returns a copy of a message with string fields set. All other fields,
// unknown ones included, stay as they are and where they are; a field that was
// not there is added at the end. It returns false if the bytes are no message.
func (ed edits) apply(data []byte) ([]byte, bool) {
	size := len(data)
	for _, v := range ed {
		size += len(v) + 16
	}
	out := make([]byte, 0, size)
	done := map[protowire.Number]bool{}
	ok := fields(data, func(num protowire.Number, typ protowire.Type, raw, _ []byte) {
		v, is := ed[num]
		switch {
		case !is || typ != protowire.BytesType:
			out = append(out, raw...)
		case !done[num]:
			done[num] = true
			out = appendString(out, num, v)
		}
	})
	for num, v := range ed {
		if !done[num] {
			out = appendString(out, num, v)
		}
	}
	return out, ok
}

func appendString(out []byte, num protowire.Number, v string) []byte {
	if v == "" {
		return out
	}
	return protowire.AppendString(protowire.AppendTag(out, num, protowire.BytesType), v)
}

// fields calls f for each field of a message: with all of its bytes, and the
// body of one that has a length. It returns false where the bytes make no sense.
func fields(data []byte, f func(num protowire.Number, typ protowire.Type, raw, body []byte)) bool {
	s := protoscan.Of(data)
	for s.Next() {
		f(s.Num, s.Type, s.Raw(), s.Body)
	}
	return s.Err == ""
}

// rewrite returns a copy of a message in which change has replaced the bodies
// of field num.
func rewrite(data []byte, num protowire.Number, change func(body []byte) []byte) ([]byte, bool) {
	out := make([]byte, 0, len(data)+64)
	ok := fields(data, func(n protowire.Number, typ protowire.Type, raw, body []byte) {
		if n != num || typ != protowire.BytesType {
			out = append(out, raw...)
			return
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, n, typ), change(body))
	})
	return out, ok
}

// withInitialVersions replaces the versions of resources that a delta client
// declares by those that of returns, where it knows one.
func withInitialVersions(data []byte, of func(name string) (string, bool)) ([]byte, bool) {
	return rewrite(data, initialOfDelta, func(entry []byte) []byte {
		name := ""
		fields(entry, func(num protowire.Number, typ protowire.Type, _, body []byte) {
			if num == initialVersionsKey && typ == protowire.BytesType {
				name = string(body)
			}
		})
		version, known := of(name)
		if !known {
			return entry
		}
		out, ok := edits{initialVersionsValue: version}.apply(entry)
		if !ok {
			return entry
		}
		return out
	})
}

// field is the body of a field of a message, nil if it is not there.
func field(data []byte, num protowire.Number) (out []byte) {
	fields(data, func(n protowire.Number, typ protowire.Type, _, body []byte) {
		if n == num && typ == protowire.BytesType {
			out = body
		}
	})
	return out
}
