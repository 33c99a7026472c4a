package xdstest

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

// What is written to files is a pair that crypto/tls reads, and the chain leads
// to the root.
func TestCredentialFiles(t *testing.T) {
	root := NewAuthority("root")
	leaf := root.Authority("between").Issue(Leaf{
		DNS: []string{"istiod.istio-system.svc"}, URIs: []string{"spiffe://cluster.local/ns/a/sa/b"}, IPs: []string{"127.0.0.1", "::1"},
	})
	cert, key, err := leaf.Write(t.TempDir(), "leaf")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if len(pair.Certificate) != 2 {
		t.Fatalf("%d certificates in the file; want the leaf and one authority", len(pair.Certificate))
	}
	between := x509.NewCertPool()
	between.AddCert(leaf.Chain[0])
	for _, name := range []string{"istiod.istio-system.svc", "127.0.0.1", "::1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: root.Pool(), Intermediates: between, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: root.Pool()}); err == nil {
		t.Error("verified without the authority between")
	}
}

func TestExpiredLeaf(t *testing.T) {
	root := NewAuthority("root")
	old := root.Issue(Leaf{DNS: []string{"a"}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)})
	if _, err := old.Cert.Verify(x509.VerifyOptions{Roots: root.Pool(), DNSName: "a"}); err == nil {
		t.Error("an expired certificate was verified")
	}
}
