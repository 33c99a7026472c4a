package held

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

const (
	// mostBytes bounds one answer.
	mostBytes = 64 << 20
	// patience is how long all of one look may take.
	patience = 20 * time.Second

	mostCA    = 1 << 20
	mostToken = 64 << 10
)

// Access is how clients are asked that want more than an address. The files are read
// each time, so that they may be replaced.
type Access struct {
	CA    string // a file with the roots that are trusted (PEM); "": those of the system
	Token string // a file with a bearer token; "": none is shown
}

// tls is how TLS is spoken with a place.
func (a *Access) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.CA == "" {
		return c, nil
	}
	text, err := readFile(a.CA, mostCA)
	if err != nil {
		return nil, &fault{kind: "ca", text: "the file of --held-ca cannot be read: " + err.Error()}
	}
	if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
		return nil, &fault{kind: "ca", text: fmt.Sprintf("there is no certificate in %q (--held-ca)", a.CA)}
	}
	return c, nil
}

// authorization is the value of that header, "" for none. No error has any of it.
func (a *Access) authorization() (string, error) {
	if a.Token == "" {
		return "", nil
	}
	text, err := readFile(a.Token, mostToken)
	if err != nil {
		return "", &fault{kind: "token", text: "the file of --held-token-file cannot be read: " + err.Error()}
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &fault{kind: "token", text: fmt.Sprintf("the token in %q is none: it has to be one word of plain characters", a.Token)}
	}
	return "Bearer " + token, nil
}

func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

func dial(ctx context.Context, p *Place) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, p.Network, p.Address)
}
