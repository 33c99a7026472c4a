package wire

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// The message of a status is what the server meant, whatever its last characters
// are; what is no escape stays as it came.
func TestStatusMessage(t *testing.T) {
	for sent, want := range map[string]string{
		"plain":         "plain",
		"no%20way":      "no way",
		"100%25":        "100%",
		"na%C3%AFve%21": "naïve!",
		"%":             "%",
		"50%2":          "50%2",
		"%zz%20":        "%zz ",
		"%%20":          "% ",
	} {
		if s := statusOf([]session.Field{{Name: "grpc-status", Value: "3"}, {Name: "grpc-message", Value: sent}}); s.Message != want || s.Code != 3 {
			t.Errorf("%q is read as %q, code %d, not %q", sent, s.Message, s.Code, want)
		}
	}
}

// gRPC-Web has gRPC's name in its type, and another way to end: it is a body.
func TestFramingOfTypes(t *testing.T) {
	for typ, want := range map[string]framing{
		"application/grpc": framingGRPC, "application/grpc+proto": framingGRPC, "application/grpc; charset=utf-8": framingGRPC,
		"application/grpc-web": framingBody, "application/grpc-web-text+proto": framingBody, "application/json": framingBody, "": framingBody,
	} {
		if got, _ := framingOf([]session.Field{{Name: "content-type", Value: typ}}, levelFull); got != want {
			t.Errorf("%q: %d, not %d", typ, got, want)
		}
	}
}

// What a response does not say is unknown, and not OK.
func TestStatusNotSaid(t *testing.T) {
	for _, tc := range []struct {
		fields []session.Field
		want   session.Status
	}{
		{nil, session.Status{Code: -1}},
		{[]session.Field{{Name: ":status", Value: "404"}}, session.Status{Code: -1, HTTP: 404}},
		{[]session.Field{{Name: ":status", Value: "200"}, {Name: "grpc-status", Value: "0"}}, session.Status{HTTP: 200}},
		{[]session.Field{{Name: "grpc-status", Value: "-2"}}, session.Status{Code: -1}},
	} {
		if got := statusOf(tc.fields); *got != tc.want {
			t.Errorf("%v: %+v, want %+v", tc.fields, *got, tc.want)
		}
	}
}
