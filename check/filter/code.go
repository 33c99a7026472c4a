package filter

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/session"
)

// code is how something ended or why it was refused; what it is not is -1.
type code struct{ grpc, http2, http int64 }

func (v *code) takes(r *Row) bool {
	e := r.Entry
	if s := e.Status; s != nil {
		if s.Code >= 0 && int64(s.Code) == v.grpc || s.WasReset && int64(s.Reset) == v.http2 || s.HTTP > 0 && int64(s.HTTP) == v.http {
			return true
		}
	}
	if e.GoAway != nil && int64(e.GoAway.Code) == v.http2 {
		return true
	}
	if e.Kind == session.KindHeader && v.http >= 0 {
		status, is := wholeNumber(session.Get(e.Headers, ":status"))
		return is && status == v.http
	}
	m := r.Change.Message
	if m == nil || v.grpc < 0 {
		return false
	}
	if m.Error != nil && int64(m.Error.Code) == v.grpc {
		return true
	}
	for i := range m.ResourceErrors {
		if int64(m.ResourceErrors[i].Code) == v.grpc {
			return true
		}
	}
	return false
}

func codeWords() []string { return append(grpcWords(), http2Words()...) }

func grpcWords() []string {
	names := session.GRPCCodes()
	return lower(names[:])
}

func http2Words() []string {
	names := session.HTTP2Codes()
	return lower(names[:])
}

func lower(words []string) []string {
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	return words
}

// leastHTTP is the smallest status of HTTP: below, a number is one of gRPC.
const leastHTTP = 100

// parseCode reads a status of gRPC or an error of HTTP/2 by its name, or a
// status of gRPC or HTTP by its number.
func parseCode(text string) (value, *Error) {
	if n, is := wholeNumber(text); is && n <= math.MaxInt32 {
		if n < leastHTTP {
			return &code{n, -1, -1}, nil
		}
		return &code{-1, -1, n}, nil
	}
	word := strings.ReplaceAll(strings.ToLower(text), "-", "_")
	if at := slices.Index(grpcWords(), word); at >= 0 {
		return &code{int64(at), -1, -1}, nil
	}
	if at := slices.Index(http2Words(), word); at >= 0 {
		return &code{-1, int64(at), -1}, nil
	}
	err := unknown("code", text, codeWords())
	if _, number := strconv.ParseFloat(text, 64); number == nil {
		err.nearest("").hint("a code is a number such as 14, or a word such as unavailable")
	}
	return nil, err
}
