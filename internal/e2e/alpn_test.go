package e2e

import (
	"bytes"
	"crypto/tls"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// What a client offers is offered to the server, and what that chooses is
// chosen for the client. Where only one side speaks TLS, the proxy offers and
// chooses what the other side speaks.
func TestProtocolsAreMirrored(t *testing.T) {
	t.Parallel()
	const h2, h1 = "h2", "http/1.1"
	both, server, client := legs{client: true, server: true}, legs{server: true}, legs{client: true}
	for _, c := range []struct {
		legs           legs
		offered, known string // of the ends, with spaces between; what a side in plaintext speaks
		want           string
	}{
		{both, h2, h2, h2},
		{both, h1, h2 + " " + h1, h1},
		{both, h2 + " " + h1, h1, h1},
		{both, h1 + " " + h2, h2 + " " + h1, h2}, // the server's choice
		{both, "", h2 + " " + h1, ""},
		{both, h2, "", ""},
		{both, "istio istio-peer-exchange h2", "istio-peer-exchange", "istio-peer-exchange"},
		{server, h2, h2 + " " + h1, h2},
		{server, h1, h2 + " " + h1, h1},
		{server, h2, "", ""},
		{client, h1 + " " + h2, h2, h2},
		{client, h1, h1, h1},
		{client, "", h2, ""},
	} {
		t.Run(c.legs.String()+", "+c.offered+", "+c.known, func(t *testing.T) {
			t.Parallel()
			s := newSecured(t)
			clientTLS, serverTLS := s.ends(t, c.legs)
			var asked []string
			if clientTLS != nil {
				clientTLS.NextProtos = strings.Fields(c.offered)
			}
			if serverTLS != nil {
				serverTLS.NextProtos = strings.Fields(c.known)
				serverTLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
					asked = hello.SupportedProtos
					return nil, nil
				}
			}
			d := newDuet(t, s.args(t, c.legs), clientTLS, serverTLS)
			opening := []byte("GET /v3/discovery HTTP/1.1\r\nHost: control-plane.example\r\n\r\n")
			if strings.HasPrefix(c.offered+c.want, h2) {
				opening = append([]byte(http2.ClientPreface), 0, 0, 0, 4, 0, 0, 0, 0, 0) // and no settings
			}
			d.say(t, false, opening)
			d.say(t, true, bytes.Repeat([]byte("any bytes at all, "), 5000))
			if clientTLS != nil {
				if got := d.client.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != c.want {
					t.Errorf("the client is told %q, want %q", got, c.want)
				}
			}
			if serverTLS != nil {
				if got := d.server().(*tls.Conn).ConnectionState().NegotiatedProtocol; got != c.want {
					t.Errorf("the server has chosen %q, want %q", got, c.want)
				}
				if !slices.Equal(asked, strings.Fields(c.offered)) {
					t.Errorf("the server was offered %q, want %q", asked, c.offered)
				}
			}
			d.finish(t)
			ofClient, ofServer := d.tlsOf(t)
			if ofClient != nil && ofClient.ALPN != c.want || ofServer != nil && ofServer.ALPN != c.want {
				t.Errorf("recorded are %+v and %+v", ofClient, ofServer)
			}
		})
	}
}

// A server that knows nothing of what the client offers refuses it, and the
// recording says why the client was refused.
func TestProtocolsThatDoNotMeet(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	l := legs{client: true, server: true}
	client, server := s.ends(t, l, "h2")
	server.NextProtos = []string{"http/1.1"}
	d := newDuet(t, s.args(t, l), client, server)
	err := d.try(false, []byte(http2.ClientPreface))
	if err == nil || !strings.Contains(err.Error(), "no application protocol") {
		t.Errorf("the client gets %v", err)
	}
	eventually(t, "the proxy says so", func() bool { return strings.Contains(d.stderr.String(), "TLS handshake") })
	d.stop(t)
	said := d.said(t)
	if !strings.Contains(said, "h2") || !strings.Contains(said, "protocol") {
		t.Errorf("the recording says %q", said)
	}
}
