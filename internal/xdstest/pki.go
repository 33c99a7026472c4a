package xdstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Authority issues certificates for tests.
type Authority struct{ Credential }

// Credential is a certificate and its key, with the authorities between it and
// the root, nearest first.
type Credential struct {
	Cert  *x509.Certificate
	Key   *ecdsa.PrivateKey
	Chain []*x509.Certificate
}

// Leaf says what a certificate is for. What is left out is: a common name of
// "test", no other name, valid from an hour ago until tomorrow, for servers and
// clients.
type Leaf struct {
	CommonName string
	DNS        []string
	URIs       []string // such as spiffe://cluster.local/ns/a/sa/b
	IPs        []string
	NotBefore  time.Time
	NotAfter   time.Time
	Usage      []x509.ExtKeyUsage
}

// NewAuthority makes a root, valid from a year ago for two years. It panics if the system
// has no random numbers, as all that makes keys here does.
func NewAuthority(name string) *Authority {
	key := newKey()
	t := authorityTemplate(name)
	return &Authority{Credential{Cert: sign(t, t, key, key), Key: key}}
}

// Authority makes an authority below a.
func (a *Authority) Authority(name string) *Authority {
	key := newKey()
	return &Authority{a.below(sign(authorityTemplate(name), a.Cert, key, a.Key), key)}
}

// Issue signs a certificate for l. An address or a URI that cannot be read is a
// panic.
func (a *Authority) Issue(l Leaf) *Credential {
	t := &x509.Certificate{
		Subject:   pkix.Name{CommonName: orElse(l.CommonName, "test")},
		DNSNames:  l.DNS,
		NotBefore: l.NotBefore, NotAfter: l.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: l.Usage,
		BasicConstraintsValid: true,
	}
	if t.NotBefore.IsZero() {
		t.NotBefore = time.Now().Add(-time.Hour)
	}
	if t.NotAfter.IsZero() {
		t.NotAfter = time.Now().Add(24 * time.Hour)
	}
	if l.Usage == nil {
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	for _, s := range l.URIs {
		t.URIs = append(t.URIs, must(url.Parse(s)))
	}
	for _, s := range l.IPs {
		ip := net.ParseIP(s)
		if ip == nil {
			panic(fmt.Sprintf("%q is no IP address", s))
		}
		t.IPAddresses = append(t.IPAddresses, ip)
	}
	key := newKey()
	c := a.below(sign(t, a.Cert, key, a.Key), key)
	return &c
}

// Pool holds the authority's certificate alone.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Cert)
	return p
}

// TLS is the credential as crypto/tls takes it.
func (c *Credential) TLS() tls.Certificate {
	out := tls.Certificate{Certificate: [][]byte{c.Cert.Raw}, PrivateKey: c.Key, Leaf: c.Cert}
	for _, link := range c.Chain {
		out.Certificate = append(out.Certificate, link.Raw)
	}
	return out
}

// CertPEM is the certificate with its chain, the leaf first.
func (c *Credential) CertPEM() []byte {
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Cert.Raw})
	for _, link := range c.Chain {
		b = append(b, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: link.Raw})...)
	}
	return b
}

// KeyPEM is the key in PKCS #8.
func (c *Credential) KeyPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(c.Key))})
}

// Write makes dir/name.pem and dir/name.key. Files that are there are replaced
// as a whole, each by a rename.
func (c *Credential) Write(dir, name string) (cert, key string, err error) {
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	if err := replaceFile(cert, c.CertPEM()); err != nil {
		return "", "", err
	}
	return cert, key, replaceFile(key, c.KeyPEM())
}

func replaceFile(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// below is a certificate that a signed. A root is not sent along.
func (a *Authority) below(cert *x509.Certificate, key *ecdsa.PrivateKey) Credential {
	c := Credential{Cert: cert, Key: key}
	if a.Chain != nil || a.Cert.Issuer.String() != a.Cert.Subject.String() {
		c.Chain = append([]*x509.Certificate{a.Cert}, a.Chain...)
	}
	return c
}

func authorityTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-24 * 365 * time.Hour), NotAfter: time.Now().Add(24 * 365 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:     true, BasicConstraintsValid: true,
	}
}

func sign(t, parent *x509.Certificate, key, by *ecdsa.PrivateKey) *x509.Certificate {
	t.SerialNumber = must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)))
	return must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, by))))
}

func newKey() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
