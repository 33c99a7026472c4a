package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// authority signs certificates. The same seed gives the same ones.
type authority struct {
	key  *ecdsa.PrivateKey
	root *x509.Certificate
}

func newAuthority(seed uint64) *authority {
	a := &authority{key: keyOf(fmt.Sprintf("root %d", seed))}
	a.root = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mesh root"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	return a
}

// keyOf makes a key of a text.
func keyOf(text string) *ecdsa.PrivateKey {
	for n := 0; ; n++ {
		raw := sha256.Sum256(fmt.Appendf(nil, "%s %d", text, n))
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw[:]); err == nil {
			return key
		}
	}
}

// leaf is the certificate of an identity and its key, in PEM.
func (a *authority) leaf(identity string, serial int64, from, until time.Time) (chain, key []byte) {
	own := keyOf(fmt.Sprintf("%s %d", identity, serial))
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{Organization: []string{"mesh"}}, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if u, err := url.Parse(identity); err == nil && u.Scheme == "spiffe" {
		c.URIs = []*url.URL{u}
	} else {
		c.DNSNames = []string{identity}
	}
	der, err := x509.CreateCertificate(nil, c, a.root, &own.PublicKey, a.key)
	if err != nil {
		panic(err) // the template is ours
	}
	raw, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}
