package render

import (
	"strconv"

	"github.com/xdsproxy/xdsproxy/session"
)

// GRPCCode is the name of a gRPC status code, or its number.
func GRPCCode(code int32) string {
	names := session.GRPCCodes()
	if code < 0 || int(code) >= len(names) {
		return strconv.Itoa(int(code))
	}
	return names[code]
}

// HTTP2Code is the name of an HTTP/2 error code, or its number.
func HTTP2Code(code uint32) string {
	names := session.HTTP2Codes()
	if uint64(code) >= uint64(len(names)) {
		return "0x" + strconv.FormatUint(uint64(code), 16)
	}
	return names[code]
}
