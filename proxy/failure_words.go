package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// certText says which certificate it is: for "istiod.istio-system.svc", signed by
// "CN=root".
func certText(c *x509.Certificate) string {
	text := "for " + namesText(identities(c))
	if by := issuer(c); by != "" {
		text += ", signed by " + quote(by)
	}
	return text
}

// shownText is the proxy's own certificate in a sentence.
func shownText(c *tls.Certificate) string {
	if c == nil || c.Leaf == nil {
		return ""
	}
	return " (" + certText(c.Leaf) + ", valid until " + day(c.Leaf.NotAfter) + ")"
}

// maxNames bounds how many names of a certificate a sentence has.
const maxNames = 4

func namesText(names []string) string {
	if len(names) == 0 {
		return "nobody"
	}
	var b strings.Builder
	for i, n := range names[:min(len(names), maxNames)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(n))
	}
	if more := len(names) - maxNames; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// quote makes a name of a peer harmless in a sentence: bounded, and without
// characters that a terminal acts on.
func quote(s string) string { return strconv.Quote(bounded(s)) }

// day is a time as it stands in a sentence, to the second: a certificate may
// have expired just now.
func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// bestName is the name of a certificate that an upstream can be asked for by.
func bestName(c *x509.Certificate) string {
	for _, n := range c.DNSNames {
		if rest, wild := strings.CutPrefix(n, "*."); !wild {
			return bounded(n)
		} else if rest != "" && len(c.DNSNames) == 1 && len(c.IPAddresses) == 0 {
			return bounded("ANY." + rest)
		}
	}
	if len(c.IPAddresses) > 0 {
		return c.IPAddresses[0].String()
	}
	return ""
}

// headerText says what a peer has sent in place of TLS, by its first bytes.
func headerText(h [5]byte) string {
	switch s := string(h[:]); {
	case strings.HasPrefix(s, "PRI *"):
		return "HTTP/2 in plaintext"
	case strings.HasPrefix(s, "HTTP/"):
		return "HTTP/1.1 in plaintext"
	case h[3] == 4 && h[0] == 0 && h[4] == 0: // the frame of SETTINGS that comes first
		return "HTTP/2 in plaintext"
	case strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ /*") == "":
		return "HTTP/1.1 in plaintext"
	}
	return fmt.Sprintf("no TLS: its first bytes are %x", h)
}
