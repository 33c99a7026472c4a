package decode

import (
	"bytes"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// KindOf is the kind of a message that side sent on a stream of method m. If the
// method is not known, it is guessed from the bytes and not sure.
func KindOf(m xds.Method, side session.Side, data session.Chunks) (kind Kind, sure bool) {
	if kind, sure = kindOf(m, side); !sure {
		kind = sniff(side, data.Bytes())
	}
	return kind, sure
}

// kindOf derives the kind from the method; false if the method is not known.
func kindOf(m xds.Method, side session.Side) (Kind, bool) {
	client := side == session.Client
	if !client && side != session.Server {
		return Other, true
	}
	switch m.Variant {
	case "":
		return Other, false
	case xds.VariantSotw, xds.VariantSotwADS, xds.VariantREST, xds.VariantFile:
		if client {
			return SotwRequest, true
		}
		return SotwResponse, true
	case xds.VariantDelta, xds.VariantDeltaADS:
		if client {
			return DeltaRequest, true
		}
		return DeltaResponse, true
	}
	return Other, true
}

// sniff guesses the kind of a protobuf message whose method is not known. The
// four messages differ in where they keep their type URL and in what their
// field 2 holds:
//
//	DiscoveryRequest        2 node        4 type_url
//	DeltaDiscoveryRequest   1 node        2 type_url
//	DiscoveryResponse       2 Any         4 type_url
//	DeltaDiscoveryResponse  2 Resource    4 type_url   6 removed name
//
// A message without a type URL where one is expected is Other.
func sniff(side session.Side, data []byte) Kind {
	var second, fourth, sixth []byte
	late := false // a field that only delta responses have
	s := protoscan.Of(data)
	for s.Next() {
		b, ok := s.Bytes()
		switch {
		case !ok:
		case s.Num == 2 && second == nil:
			second = b
		case s.Num == 4 && fourth == nil:
			fourth = b
		case s.Num == 6 && sixth == nil:
			sixth = b
		case s.Num == 8 || s.Num == 9:
			late = true
		}
	}
	switch side {
	case session.Client:
		if isTypeURL(second) {
			return DeltaRequest
		}
		if isTypeURL(fourth) {
			return SotwRequest
		}
	case session.Server:
		if !isTypeURL(fourth) {
			if isTypeURL(protoscan.First(second, 1)) {
				return SotwResponse
			}
			return Other
		}
		if second != nil {
			first := protoscan.First(second, 1)
			if bytes.Equal(first, fourth) || xds.IsWrapper(string(first)) || isTypeURL(first) && !HoldsAny(second) {
				return SotwResponse
			}
			return DeltaResponse
		}
		// A control_plane begins with the tag of its identifier.
		if late || len(sixth) > 0 && sixth[0] != 0x0a {
			return DeltaResponse
		}
		return SotwResponse
	}
	return Other
}

// isTypeURL says whether b has the form of a type URL: printable ASCII with a
// slash, and a dot somewhere.
func isTypeURL(b []byte) bool {
	if len(b) == 0 || len(b) > 1024 || bytes.HasPrefix(b, []byte("xdstp:")) {
		return false
	}
	for _, c := range b {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return bytes.IndexByte(b, '/') > 0 && bytes.IndexByte(b, '.') >= 0
}

// HoldsAny says whether field 2 of the message b is an Any, as in a Resource.
func HoldsAny(b []byte) bool {
	for s := protoscan.Of(b); s.Next(); {
		if s.Num == 3 {
			return true // the name of a Resource; an Any has no third field
		}
		if v, ok := s.Bytes(); ok && s.Num == 2 {
			return isTypeURL(protoscan.First(v, 1))
		}
	}
	return false
}

// LooksLikeJSON says whether data begins as an object in JSON does.
func LooksLikeJSON(data []byte) bool {
	b := bytes.TrimLeft(data, " \t\r\n")
	return len(b) >= 2 && b[0] == '{' && bytes.ContainsAny(b[1:2], "\"} \t\r\n")
}
