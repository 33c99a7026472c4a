package render

import "strconv"

// GRPCCode is the name of a gRPC status code, or its number.
func GRPCCode(code int32) string {
	names := [...]string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
		"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	}
	if code < 0 || int(code) >= len(names) {
		return strconv.Itoa(int(code))
	}
	return names[code]
}

// HTTP2Code is the name of an HTTP/2 error code (RFC 9113 section 7), or its
// number.
func HTTP2Code(code uint32) string {
	names := [...]string{
		"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
		"STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
		"CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
	}
	if uint64(code) >= uint64(len(names)) {
		return "0x" + strconv.FormatUint(uint64(code), 16)
	}
	return names[code]
}
