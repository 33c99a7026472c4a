package render

import (
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// newTLS is the TLS of a connection in its machine-readable form, nil if both
// legs are plaintext.
func newTLS(p *session.Peer) *TLS {
	if p.ClientTLS == nil && p.ServerTLS == nil {
		return nil
	}
	return &TLS{newTLSLeg(p.ClientTLS), newTLSLeg(p.ServerTLS)}
}

func newTLSLeg(t *session.TLS) *TLSLeg {
	if t == nil {
		return nil
	}
	return &TLSLeg{
		Version: t.Version, Cipher: t.Cipher, ALPN: t.ALPN, ServerName: t.ServerName,
		Identities: t.Identities, Issuer: t.Issuer, NotAfter: Timestamp(t.NotAfter),
		Verified: t.Verified, Resumed: t.Resumed,
	}
}

// legText is the TLS of a leg in a line: who is at its far end, as far as that
// is certain, "" for plaintext.
func legText(t *session.TLS) string {
	switch {
	case t == nil:
		return ""
	case len(t.Identities) == 0:
		return " (TLS)"
	case !t.Verified:
		return " (" + Safe(t.Identities[0]) + ", not verified)"
	}
	return " (" + Safe(t.Identities[0]) + ")"
}

// tls adds the facts of a leg that speaks TLS.
func (x *explainer) tls(name string, t *session.TLS) {
	if t == nil {
		return
	}
	if t.Version == "" {
		x.add(name+" TLS", "", "the handshake did not come to its end").Look = FactBad
	} else {
		x.add(name+" TLS", strings.TrimRight(t.Version+" "+t.Cipher+" "+t.ALPN, " "), "")
	}
	if t.ServerName != "" {
		x.add("", t.ServerName, "the server name that was asked for")
	}
	for _, id := range t.Identities {
		x.add("", id, "of the certificate of the "+name)
	}
	if len(t.Identities) == 0 {
		return
	}
	if t.Verified {
		x.add("", t.Issuer, "signed it; verified")
	} else {
		x.add("", t.Issuer, "signed it, by what it says; not verified").Look = FactBad
	}
	if !t.NotAfter.IsZero() {
		f := x.add("", t.NotAfter.UTC().Format(time.DateTime)+" UTC", "the end of its validity")
		if x.e.Time.After(t.NotAfter) {
			f.Look = FactBad
		}
	}
}
