// Package mint is a certification authority of the proxy's own: it signs a
// certificate for whatever name a client asks for, so that the client only has
// to trust one root.
//
// The authority lives in a directory, in ca.pem, which is what a client has to
// trust, and ca-key.pem. Leaves are never written anywhere. The package speaks
// no TLS and decides nothing about who may ask.
package mint

import (
	"container/list"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/xdsproxy/xdsproxy/proxy/pemfile"
)

const (
	// leafTime is how long a leaf is valid, renewTime how long before its end
	// another one is made.
	leafTime  = 7 * 24 * time.Hour
	renewTime = 2 * 24 * time.Hour
	// skew is how far a client's clock may be behind.
	skew = time.Hour
	// maxLeaves bounds what is kept. Clients choose the names.
	maxLeaves = 256
)

// Authority signs leaves. It can be used by several goroutines.
type Authority struct {
	files *pemfile.Pair
	now   func() time.Time

	mu     sync.Mutex // also while a leaf is signed, so that none is signed twice
	root   *tls.Certificate
	key    *ecdsa.PrivateKey // of all leaves
	leaves map[string]*list.Element
	recent list.List // of *tls.Certificate, the last asked for in front
}

// Leaf returns a certificate for a host name or an IP address, and its key.
func (a *Authority) Leaf(name string) (*tls.Certificate, error) {
	name = strings.ToLower(name)
	if err := checkName(name); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if root := a.files.Get(); root != a.root {
		a.root, a.leaves = root, make(map[string]*list.Element)
		a.recent.Init()
	}
	now := a.now()
	if e, ok := a.leaves[name]; ok {
		leaf := e.Value.(*minted)
		if now.Before(leaf.renew) {
			a.recent.MoveToFront(e)
			return leaf.cert, nil
		}
		a.forget(e)
	}
	leaf, err := a.sign(name, now)
	if err != nil {
		return nil, err
	}
	a.leaves[name] = a.recent.PushFront(leaf)
	if a.recent.Len() > maxLeaves {
		a.forget(a.recent.Back())
	}
	return leaf.cert, nil
}

func (a *Authority) forget(e *list.Element) {
	a.recent.Remove(e)
	delete(a.leaves, e.Value.(*minted).name)
}

// minted is a leaf that is kept until it has to be renewed.
type minted struct {
	name  string
	cert  *tls.Certificate
	renew time.Time
}

func (a *Authority) sign(name string, now time.Time) (*minted, error) {
	ca := a.root.Leaf
	if now.After(ca.NotAfter) {
		return nil, fmt.Errorf("the authority's own certificate expired on %s", ca.NotAfter.UTC().Format(time.DateOnly))
	}
	until := now.Add(leafTime)
	if until.After(ca.NotAfter) {
		until = ca.NotAfter
	}
	t := &x509.Certificate{
		SerialNumber: newSerial(),
		Subject:      pkix.Name{Organization: []string{organization}},
		NotBefore:    now.Add(-skew), NotAfter: until,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if len(name) <= 64 { // the most that X.520 allows
		t.Subject.CommonName = name
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		t.IPAddresses = append(t.IPAddresses, ip.Unmap().AsSlice())
	} else {
		t.DNSNames = []string{name}
	}
	if a.key == nil {
		var err error
		if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return nil, err
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, ca, &a.key.PublicKey, a.root.PrivateKey)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	renew := until.Add(-renewTime)
	if until.Equal(ca.NotAfter) {
		renew = until // there is nothing longer to be had
	}
	return &minted{name, &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key, Leaf: leaf}, renew}, nil
}

// newSerial is a number of 127 bits. rand.Reader never fails.
func newSerial() *big.Int {
	n, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	return n
}

// checkName refuses what is no name of a host: a certificate for it would help
// nobody, and the name stands in logs.
func checkName(name string) error {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	if name == "" || len(name) > 253 {
		return errors.New("a host name has 1 to 253 characters")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("%q is no host name: each part of one has 1 to 63 characters", name)
		}
		for _, r := range label {
			if r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') {
				return fmt.Errorf("%q is no host name: %q cannot stand in one", name, r)
			}
		}
	}
	return nil
}
