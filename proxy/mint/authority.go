package mint

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/xdsproxy/xdsproxy/proxy/pemfile"
)

// CertFile is what clients have to trust, in the authority's directory. KeyFile
// must stay there.
const (
	CertFile = "ca.pem"
	KeyFile  = "ca-key.pem"
)

const organization = "xdsproxy debugging proxy"

// authorityTime is how long a new authority is valid.
const authorityTime = 365 * 24 * time.Hour

// Open reads the authority in dir, and makes one if there is none. Several
// processes may do that at once: they end up with the same. The error is a
// *pemfile.Error. Warn is told when files that have changed are no good.
func Open(dir string, warn func(error)) (*Authority, error) {
	cert, key := filepath.Join(dir, CertFile), filepath.Join(dir, KeyFile)
	if err := create(dir, cert, key); err != nil {
		return nil, err
	}
	if err := checkMode(key); err != nil {
		return nil, err
	}
	files, err := pemfile.OpenPair(cert, key, warn)
	if err != nil {
		return nil, err
	}
	switch ca := files.Get().Leaf; {
	case !ca.IsCA || ca.KeyUsage != 0 && ca.KeyUsage&x509.KeyUsageCertSign == 0:
		return nil, &pemfile.Error{Path: cert, Err: errors.New("it is no certificate of an authority: it may not sign others")}
	case time.Now().After(ca.NotAfter):
		return nil, &pemfile.Error{Path: cert, Err: fmt.Errorf("it expired on %s; remove it and %q, and another one is made, which clients have to trust anew",
			ca.NotAfter.UTC().Format(time.DateOnly), key)}
	}
	return &Authority{files: files, now: time.Now}, nil
}

// create makes what is missing. The key comes first and decides: whoever finds
// one signs with it, and the first certificate that is in place stays.
func create(dir, cert, key string) error {
	if exists(cert) {
		return nil // what is wrong with the key, if anything, is found by reading it
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &pemfile.Error{Path: dir, Err: err}
	}
	if !exists(key) {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return &pemfile.Error{Path: key, Err: err}
		}
		der, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			return &pemfile.Error{Path: key, Err: err}
		}
		if err := place(key, "PRIVATE KEY", der, 0o600); err != nil {
			return err
		}
	}
	signer, err := readKey(key)
	if err != nil {
		return &pemfile.Error{Path: key, Err: err}
	}
	der, err := selfSign(signer, time.Now())
	if err != nil {
		return &pemfile.Error{Path: cert, Err: err}
	}
	return place(cert, "CERTIFICATE", der, 0o644)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// place writes a file as a whole, unless there is one.
func place(path, blockType string, der []byte, mode fs.FileMode) error {
	err := func() error {
		tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
		if err != nil {
			return err
		}
		defer os.Remove(tmp.Name())
		text := pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: der})
		_, err = tmp.Write(text)
		err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
		if err != nil {
			return err
		}
		err = os.Link(tmp.Name(), path)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
		// A file system without hard links: whoever comes second may find half
		// a file, and says so.
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Close())
	}()
	if err != nil {
		return &pemfile.Error{Path: path, Err: err}
	}
	return nil
}

func readKey(path string) (crypto.Signer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("there is no key in PEM form in it")
	}
	k, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("a key without a certificate beside it has to be PKCS #8: %w", err)
	}
	signer, ok := k.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key cannot sign")
	}
	return signer, nil
}

func selfSign(key crypto.Signer, now time.Time) ([]byte, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	name := "xdsproxy debugging CA of " + host
	t := &x509.Certificate{
		SerialNumber: newSerial(),
		Subject:      pkix.Name{Organization: []string{organization}, CommonName: name[:min(len(name), 64)]},
		NotBefore:    now.Add(-skew), NotAfter: now.Add(authorityTime),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		IsCA:     true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	return x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
}

// checkMode refuses a key that everybody can read: whoever has it can pretend
// to be any server to a client that trusts the authority. A group may read it,
// as it has to in a Kubernetes volume.
func checkMode(key string) error {
	info, err := os.Stat(key)
	if err != nil {
		return &pemfile.Error{Path: key, Err: err}
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o027 != 0 {
		return &pemfile.Error{Path: key, Err: fmt.Errorf("its mode is %04o: others could read or replace this authority's key; make it 0600", mode)}
	}
	return nil
}
