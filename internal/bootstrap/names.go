package bootstrap

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Name is a matcher of subject alternative names.
type Name struct {
	Kind NameKind
	How  How
	Text string
	Fold bool // upper and lower case are the same
}

// NameKind is the kind of a subject alternative name.
type NameKind string

// The kinds that certificates have and clients look at.
const (
	DNS   NameKind = "DNS"
	URI   NameKind = "URI"
	Email NameKind = "email"
	IP    NameKind = "IP"
)

// How is the way in which a name matches.
type How string

// The ways of Envoy's StringMatcher.
const (
	Exact    How = "exact"
	Prefix   How = "prefix"
	Suffix   How = "suffix"
	Contains How = "contains"
	Regex    How = "regex" // of all of the name, in RE2's syntax
)

func (n Name) String() string {
	text := n.Text
	switch n.How {
	case Prefix:
		text += "…"
	case Suffix:
		text = "…" + text
	case Contains:
		text = "…" + text + "…"
	case Regex:
		text = "/" + text + "/"
	}
	if n.Kind == URI {
		return text
	}
	return string(n.Kind) + " " + text
}

func listed(names []Name) string {
	var words []string
	for _, n := range names {
		words = append(words, n.String())
	}
	return few(words, " or ")
}

// few are the first of some words; a certificate may have any number of names.
func few(words []string, between string) string {
	const most = 5
	if len(words) > most {
		words = append(words[:most:most], fmt.Sprintf("%d more", len(words)-most))
	}
	return strings.Join(words, between)
}

// anyName says whether one of the names is in a certificate.
func anyName(names []Name, c *x509.Certificate) error {
	if len(names) == 0 {
		return nil
	}
	var all []string
	for _, san := range sansOf(c) {
		for _, n := range names {
			if n.matches(san) {
				return nil
			}
		}
		all = append(all, san.text)
	}
	has := "it is for no name at all"
	if len(all) > 0 {
		has = "it is for " + few(all, ", ")
	}
	return fmt.Errorf("%s; the client wants %s", has, listed(names))
}

// san is one subject alternative name.
type san struct {
	kind NameKind
	text string
}

func sansOf(c *x509.Certificate) []san {
	var out []san
	for _, u := range c.URIs {
		out = append(out, san{URI, u.String()})
	}
	for _, n := range c.DNSNames {
		out = append(out, san{DNS, n})
	}
	for _, ip := range c.IPAddresses {
		out = append(out, san{IP, ip.String()})
	}
	for _, a := range c.EmailAddresses {
		out = append(out, san{Email, a})
	}
	return out
}

func (n Name) matches(s san) bool {
	if n.Kind != s.kind {
		return false
	}
	if n.Kind == DNS && n.How == Exact {
		return sameHost(n.Text, s.text)
	}
	want, have := n.Text, s.text
	if n.Fold {
		want, have = strings.ToLower(want), strings.ToLower(have)
	}
	switch n.How {
	case Exact:
		return have == want
	case Prefix:
		return strings.HasPrefix(have, want)
	case Suffix:
		return strings.HasSuffix(have, want)
	case Contains:
		return strings.Contains(have, want)
	case Regex:
		re, err := wholly(n.Text)
		return err == nil && re.MatchString(s.text)
	}
	return false
}

// wholly compiles an expression that has to match all of a text.
func wholly(expression string) (*regexp.Regexp, error) {
	if len(expression) > maxExpression {
		return nil, fmt.Errorf("longer than %d bytes", maxExpression)
	}
	if _, err := regexp.Compile(expression); err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + expression + `)\z`)
}

// sameHost says whether a certificate's DNS name, whose first label may be *,
// stands for a host. Envoy takes * within a label as well, which is not taken
// here.
func sameHost(host, name string) bool {
	host, name = strings.ToLower(host), strings.ToLower(name)
	if host == name {
		return host != ""
	}
	domain, wild := strings.CutPrefix(name, "*.")
	label, rest, found := strings.Cut(host, ".")
	return wild && found && label != "" && rest == domain && !strings.HasPrefix(label, "xn--")
}

// Pin is what is known of a certificate itself.
type Pin struct {
	Key  bool // of its public key (SubjectPublicKeyInfo), else of all of it
	Hash [sha256.Size]byte
}

var errPin = errors.New("neither it nor its key is one that the client has pinned")

func anyPin(pins []Pin, c *x509.Certificate) error {
	for _, p := range pins {
		of := c.Raw
		if p.Key {
			of = c.RawSubjectPublicKeyInfo
		}
		if sha256.Sum256(of) == p.Hash {
			return nil
		}
	}
	if len(pins) == 0 {
		return nil
	}
	return errPin
}

// pinOfKey reads a pin of a public key: its hash in base 64.
func pinOfKey(text string) (p Pin, ok bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	return Pin{Key: true, Hash: [sha256.Size]byte(append(b, make([]byte, sha256.Size)...))}, err == nil && len(b) == sha256.Size
}

// pinOfCertificate reads a pin of a certificate: its hash in hexadecimal, with
// colons or without.
func pinOfCertificate(text string) (p Pin, ok bool) {
	b, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	return Pin{Hash: [sha256.Size]byte(append(b, make([]byte, sha256.Size)...))}, err == nil && len(b) == sha256.Size
}
