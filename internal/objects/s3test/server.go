// Package s3test runs moto, a server of others that speaks S3, and stands between
// it and a client where something is to go wrong. It is for tests.
package s3test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Server is a moto that runs until the test is over.
type Server struct {
	URL string // http://127.0.0.1:PORT, or https
	CA  string // file with the certificate to trust; "" without TLS
	log *tail
	t   testing.TB

	apart bool // the environment of the test does not name it
}

// Key and Secret are credentials that moto takes, as it takes any, unless CheckKeys
// was called.
const (
	Key    = "AKIAXDSPROXYTESTS000"
	Secret = "not-a-secret"
	Region = "us-east-1"
)

// Start starts moto, over TLS if asked, with the bucket "fleet" in it. The
// environment of the test is one in which the AWS variables name it. Where moto is
// missing, the test is skipped, or fails on a build machine.
func Start(t testing.TB, secure bool) *Server {
	t.Helper()
	s := start(t, secure, false)
	if err := s.MakeBucket("fleet"); err != nil {
		t.Fatalf("%v\n%s", err, s.log)
	}
	return s
}

// StartApart is Start without a bucket, and without a change of the environment, so
// that tests can run beside each other: Env is for the programs that they start.
func StartApart(t testing.TB, secure bool) *Server {
	t.Helper()
	return start(t, secure, true)
}

func start(t testing.TB, secure, apart bool) *Server {
	t.Helper()
	here, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(filepath.Dir(string(here)), ".tools", "moto")
	if _, err := os.Stat(filepath.Join(module, "moto")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("moto is not installed: run make moto")
		}
		t.Skip("moto is not installed: run make moto")
	}
	s := &Server{log: &tail{}, t: t, apart: apart}
	args := []string{"-c", "from moto.server import main; import sys; main(sys.argv[1:])", "-H", "127.0.0.1", "-p", "0"}
	if secure {
		cert, key := certificate(t)
		s.CA = cert
		args = append(args, "-s", "-c", cert, "-k", key)
	}
	cmd := exec.Command("python3", args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+module, "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := make(chan string, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		running := regexp.MustCompile(`Running on (https?://127\.0\.0\.1:\d+)`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			_, _ = s.log.Write(append(lines.Bytes(), '\n'))
			if m := running.FindSubmatch(lines.Bytes()); m != nil && len(found) == 0 {
				found <- string(m[1])
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
		_ = cmd.Wait()
	})
	select {
	case s.URL = <-found:
	case <-over:
		t.Fatalf("moto did not start:\n%s", s.log)
	case <-time.After(time.Minute):
		t.Fatalf("moto did not say where it listens:\n%s", s.log)
	}
	s.Environment(s.URL, s.CA)
	return s
}

// Environment makes the AWS variables name a server, for what runs in the test and
// what it starts. It does nothing for one that is apart.
func (s *Server) Environment(endpoint, ca string) {
	if s.apart {
		return
	}
	for _, v := range Environment(s.t, endpoint, ca) {
		name, value, _ := strings.Cut(v, "=")
		s.t.Setenv(name, value)
	}
}

// Environment is one in which the AWS variables name a server and nothing else says
// anything: for a program that a test starts.
func Environment(t testing.TB, endpoint, ca string) []string {
	none := filepath.Join(t.TempDir(), "none")
	return []string{
		"AWS_ENDPOINT_URL=" + endpoint, "AWS_CA_BUNDLE=" + ca, "AWS_REGION=" + Region,
		"AWS_ACCESS_KEY_ID=" + Key, "AWS_SECRET_ACCESS_KEY=" + Secret,
		"AWS_CONFIG_FILE=" + none, "AWS_SHARED_CREDENTIALS_FILE=" + none, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_REQUEST_CHECKSUM_CALCULATION=",
	}
}

// Client is one of its own, which asks the server directly.
func (s *Server) Client() *minio.Core {
	s.t.Helper()
	host := strings.TrimPrefix(strings.TrimPrefix(s.URL, "http://"), "https://")
	o := &minio.Options{Creds: credentials.NewStaticV4(Key, Secret, ""), Region: Region, Secure: s.CA != ""}
	if s.CA != "" {
		o.Transport = trusting(s.t, s.CA)
	}
	c, err := minio.NewCore(host, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// MakeBucket makes another bucket.
func (s *Server) MakeBucket(name string) error {
	return s.Client().MakeBucket(context.Background(), name, minio.MakeBucketOptions{})
}

// CheckKeys makes the server refuse keys that it has not given, from now on.
func (s *Server) CheckKeys() {
	s.t.Helper()
	client := &http.Client{}
	if s.CA != "" {
		client.Transport = trusting(s.t, s.CA)
	}
	resp, err := client.Post(s.URL+"/moto-api/reset-auth", "text/plain", strings.NewReader("0"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", resp.Status, body)
	}
}

// Log is the end of what the server has written.
func (s *Server) Log() string { return s.log.String() }

// tail is the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *tail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buf.Len() > 1<<20 {
		l.buf.Reset()
	}
	return l.buf.Write(b)
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// certificate makes a certificate for 127.0.0.1 that is its own authority.
func certificate(t testing.TB) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "s3test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
