package columns

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
)

const (
	beginCertificate = "-----BEGIN CERTIFICATE-----"
	// maxCertificates bounds those that are read of a content, and maxCertificate the
	// bytes of one.
	maxCertificates = 512
	maxCertificate  = 64 << 10
)

// certificates are those in a content.
type certificates struct {
	count int
	first *x509.Certificate // that ends first, of those that can be read
}

// certificatesIn finds certificates as they stand in a content: PEM in a text. In
// JSON they stand there with escaped ends of lines.
func certificatesIn(body []byte, json bool) (out certificates) {
	for out.count < maxCertificates {
		i := bytes.Index(body, []byte(beginCertificate))
		if i < 0 {
			return out
		}
		out.count++
		body = body[i:]
		one := body[:min(len(body), maxCertificate)]
		body = body[len(beginCertificate):]
		if json {
			one = bytes.ReplaceAll(bytes.ReplaceAll(one, []byte(`\r`), nil), []byte(`\n`), []byte("\n"))
		}
		block, _ := pem.Decode(one)
		if block == nil || block.Type != "CERTIFICATE" {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && (out.first == nil || c.NotAfter.Before(out.first.NotAfter)) {
			out.first = c
		}
	}
	return out
}
