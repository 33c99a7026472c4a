package wire

import (
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/session"
)

// statusOf reads how a response ended from its trailers, or from its headers
// where it has no others (trailers-only).
func statusOf(fields []session.Field) *session.Status {
	s := &session.Status{Code: -1}
	for _, f := range fields {
		switch f.Name {
		case ":status":
			s.HTTP, _ = strconv.Atoi(f.Value)
		case "grpc-status":
			if n, err := strconv.ParseUint(f.Value, 10, 31); err == nil {
				s.Code = int32(n)
			}
		case "grpc-message":
			s.Message = percentDecode(f.Value)
		}
	}
	return s
}

// percentDecode undoes the encoding of grpc-message. As gRPC demands, it keeps
// what is not a valid escape.
func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// framing says how the DATA of a stream is divided into messages.
type framing uint8

const (
	framingUnknown framing = iota // decided by the first bytes
	framingGRPC                   // length-prefixed messages
	framingBody                   // all of it is one message
	framingLost                   // messages were lost: nothing is read before one begins a DATA frame
)

// framingOf reads from header fields how the body is divided and compressed.
func framingOf(fields []session.Field, lv level) (framing, string) {
	if lv != levelFull {
		return framingUnknown, ""
	}
	ct := session.Get(fields, "content-type")
	if strings.HasPrefix(ct, "application/grpc") && !strings.HasPrefix(ct, "application/grpc-web") {
		return framingGRPC, session.Get(fields, "grpc-encoding")
	}
	return framingBody, session.Get(fields, "content-encoding")
}
