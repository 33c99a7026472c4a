package pseudonym

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// pem maps a text with PEM in it. Certificates are made anew with stand-ins for
// their names, since the originals are signed. Of other blocks what they hold
// becomes opaque.
func (n *Names) pem(s string) string {
	text := n.prose
	if n.leak != nil {
		text = func(s string) string { return s }
	}
	var out strings.Builder
	for s != "" {
		at := strings.Index(s, "-----BEGIN ")
		if at < 0 {
			break
		}
		out.WriteString(text(s[:at]))
		s = s[at:]
		block, rest := pem.Decode([]byte(s))
		if block == nil || !strings.HasPrefix(s, "-----BEGIN "+block.Type) { // masked, or cut off
			end := ends(s, "-----")
			if i := strings.Index(s, "-----END "); i >= 0 {
				end = i + ends(s[i:], "\n")
			}
			if n.leak != nil {
				return s
			}
			return out.String() + n.strict(s[:end], plain) + n.pem(s[end:])
		}
		switch {
		case block.Type == "CERTIFICATE":
			block = &pem.Block{Type: block.Type, Bytes: n.certificate(block.Bytes)}
		case n.settled && n.leak == nil:
			block = &pem.Block{Type: block.Type, Bytes: n.opaque(block.Bytes)}
		}
		out.Write(pem.EncodeToMemory(block))
		s = string(rest)
	}
	return out.String() + text(s)
}

// certificate is one that stands for another: with the same dates and uses, with
// stand-ins for names, and with a key that follows from the subject. So one
// that signed the other one still does.
func (n *Names) certificate(der []byte) []byte {
	if made := n.certificates[string(der)]; made != nil && n.leak == nil {
		return made
	}
	old, err := x509.ParseCertificate(der)
	if err != nil {
		return n.opaque(der)
	}
	subject := n.subject(old.Subject)
	t := &x509.Certificate{
		Subject: subject, NotBefore: old.NotBefore, NotAfter: old.NotAfter,
		KeyUsage: old.KeyUsage, ExtKeyUsage: old.ExtKeyUsage, IsCA: old.IsCA, BasicConstraintsValid: old.BasicConstraintsValid,
		MaxPathLen: old.MaxPathLen, MaxPathLenZero: old.MaxPathLenZero,
	}
	for _, d := range old.DNSNames {
		t.DNSNames = append(t.DNSNames, n.text(d, inValue, 0))
	}
	for _, m := range old.EmailAddresses {
		t.EmailAddresses = append(t.EmailAddresses, n.text(m, inValue, 0))
	}
	for _, ip := range old.IPAddresses {
		if a, ok := netip.AddrFromSlice(ip); ok {
			t.IPAddresses = append(t.IPAddresses, net.IP(n.ips.cipher(a, false).AsSlice()))
		}
	}
	for _, u := range old.URIs {
		if mapped, err := url.Parse(n.text(u.String(), inValue, 0)); err == nil {
			t.URIs = append(t.URIs, mapped)
		}
	}
	issuer := &x509.Certificate{Subject: n.subject(old.Issuer)}
	if n.leak != nil || !n.settled {
		return der
	}
	sum := sha256.Sum256(n.opaque(der))
	t.SerialNumber = new(big.Int).SetBytes(sum[:16])
	// Without a source of random bytes signatures follow from key and text (RFC 6979).
	made, err := x509.CreateCertificate(nil, t, issuer, &n.signer(string(old.RawSubject)).PublicKey, n.signer(string(old.RawIssuer)))
	if err != nil || !n.keep(len(made)+len(der)) {
		return n.opaque(der)
	}
	n.certificates[string(der)] = made
	return made
}

// subject maps the values of a name.
func (n *Names) subject(of pkix.Name) pkix.Name {
	var out pkix.Name
	for _, a := range of.Names {
		if s, ok := a.Value.(string); ok {
			out.ExtraNames = append(out.ExtraNames, pkix.AttributeTypeAndValue{Type: a.Type, Value: n.text(s, inValue, 0)})
		}
	}
	return out
}

// signer is the key that stands for that of a subject.
func (n *Names) signer(subject string) *ecdsa.PrivateKey {
	for attempt := byte(0); ; attempt++ {
		mac := hmac.New(sha256.New, n.key.part("certificates"))
		mac.Write(append([]byte{attempt}, subject...))
		if k, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), mac.Sum(nil)); err == nil {
			return k
		}
	}
}
