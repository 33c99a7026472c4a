package pemfile

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Pair is a certificate with its chain and its key.
type Pair = Files[*tls.Certificate]

// OpenPair reads a certificate and its key, which may be in one file.
func OpenPair(cert, key string, warn func(error)) (*Pair, error) {
	return Open(func(contents [][]byte) (*tls.Certificate, error) {
		if _, err := Certificates(contents[0]); err != nil {
			return nil, &Error{cert, err}
		}
		if err := holdsKey(contents[1]); err != nil {
			return nil, &Error{key, err}
		}
		pair, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			if strings.Contains(err.Error(), "does not match") {
				err = fmt.Errorf("it is not the key of the certificate in %q", cert)
			}
			return nil, &Error{key, plain(err)}
		}
		return &pair, nil
	}, warn, cert, key)
}

// Roots are authorities that are trusted.
type Roots struct {
	Pool  *x509.CertPool
	Certs []*x509.Certificate
}

// OpenRoots reads certificates of authorities.
func OpenRoots(path string, warn func(error)) (*Files[*Roots], error) {
	return Open(func(contents [][]byte) (*Roots, error) {
		certs, err := Certificates(contents[0])
		if err != nil {
			return nil, &Error{path, err}
		}
		r := &Roots{Pool: x509.NewCertPool(), Certs: certs}
		for _, c := range certs {
			r.Pool.AddCert(c)
		}
		return r, nil
	}, warn, path)
}

// Certificates reads every certificate of a PEM text, and passes over what is
// there beside them. There is one at least.
func Certificates(text []byte) ([]*x509.Certificate, error) {
	if err := holdsCertificate(text); err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d in it cannot be read: %w", len(certs)+1, plain(err))
		}
		certs = append(certs, c)
	}
	return certs, nil
}

func holdsCertificate(text []byte) error {
	types := blockTypes(text)
	switch {
	case types == nil:
		return errors.New("there is no certificate in PEM form in it")
	case !slices.ContainsFunc(types, func(t string) bool { return t == "CERTIFICATE" }):
		return fmt.Errorf("there is no certificate in it, only %s", strings.Join(types, ", "))
	}
	return nil
}

func holdsKey(text []byte) error {
	types := blockTypes(text)
	switch {
	case types == nil:
		return errors.New("there is no key in PEM form in it")
	case slices.ContainsFunc(types, func(t string) bool { return t == "ENCRYPTED PRIVATE KEY" }),
		strings.Contains(string(text), "Proc-Type: 4,ENCRYPTED"):
		return errors.New("the key in it is encrypted; there is nobody to ask for a passphrase")
	case !slices.ContainsFunc(types, func(t string) bool { return strings.HasSuffix(t, "PRIVATE KEY") }):
		return fmt.Errorf("there is no private key in it, only %s", strings.Join(types, ", "))
	}
	return nil
}

// blockTypes are the kinds of the first few PEM blocks.
func blockTypes(text []byte) []string {
	var types []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if !slices.ContainsFunc(types, func(t string) bool { return t == block.Type }) && len(types) < 8 {
			types = append(types, block.Type)
		}
	}
	return types
}

// plain drops the name of the Go package that an error begins with.
func plain(err error) error {
	for _, prefix := range []string{"tls: ", "x509: "} {
		if s, ok := strings.CutPrefix(err.Error(), prefix); ok {
			return errors.New(s)
		}
	}
	return err
}
