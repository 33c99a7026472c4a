package standin

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// issuerName is who signs the certificates of fresh keys.
const issuerName = "xdsproxy replay"

// issuer signs certificates for fresh keys.
type issuer struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newIssuer() (*issuer, error) {
	key, err := newKey(nil)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: issuerName}, SerialNumber: big.NewInt(time.Now().UnixNano()),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	return &issuer{c, key}, err
}

// newPair makes a key of the kind that a recorded chain was for, and a
// certificate for it that has the subject and the names of the recorded one.
// said tells of whom it is.
func (by *issuer) newPair(chain []byte, name string) (pair *keyPair, said string, err error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		KeyUsage:  x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	said = fmt.Sprintf("of %q, since the recorded one cannot be read", bounded(name))
	var of any
	if block, _ := pem.Decode(chain); block != nil {
		if old, err := x509.ParseCertificate(block.Bytes); err == nil {
			template.Subject, template.KeyUsage, template.ExtKeyUsage = old.Subject, old.KeyUsage, old.ExtKeyUsage
			template.DNSNames, template.EmailAddresses = old.DNSNames, old.EmailAddresses
			template.IPAddresses, template.URIs = old.IPAddresses, old.URIs
			of = old.PublicKey
			said = "of the same subject and names" + names(old)
		}
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, "", err
	}
	key, err := newKey(of)
	if err != nil {
		return nil, "", err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key.Public(), by.key)
	if err != nil {
		return nil, "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, "", err
	}
	return &keyPair{
		chain: append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: by.certificate.Raw})...),
		key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, said, nil
}

// newKey makes a key of the kind of a public one, or a small one.
func newKey(of any) (crypto.Signer, error) {
	switch of := of.(type) {
	case *rsa.PublicKey:
		return rsa.GenerateKey(rand.Reader, 2048)
	case *ecdsa.PublicKey:
		return ecdsa.GenerateKey(of.Curve, rand.Reader)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func names(c *x509.Certificate) string {
	all := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	for _, u := range c.URIs {
		all = append(all, u.String())
	}
	all = append(all, c.EmailAddresses...)
	if len(all) == 0 {
		return ""
	}
	return " (" + bounded(strings.Join(all, ", ")) + ")"
}
