package objects

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

const (
	// maxPage bounds a page of a listing: a thousand keys of 1,024 bytes, each
	// byte escaped, with what stands around them, are 4 MB.
	maxPage = 8 << 20
	// maxFields bounds the header of an answer.
	maxFields = 128 << 10
)

// transport sends requests to one server. It bounds what comes back, and notes what
// time the server has.
type transport struct {
	http.RoundTripper
	// skew is how far the server's clock is ahead, in nanoseconds, and 1 more so
	// that 0 means that nothing is known.
	skew atomic.Int64
}

func newTransport(env *surroundings, idle time.Duration) (*transport, error) {
	var trust *x509.CertPool
	if env.bundle != "" {
		pem, err := os.ReadFile(env.bundle)
		if err != nil {
			return nil, &Error{What: fmt.Sprintf("cannot read the certificates to trust: %v", err), Hint: hintTrust}
		}
		trust = x509.NewCertPool()
		if !trust.AppendCertsFromPEM(pem) {
			return nil, &Error{What: fmt.Sprintf("%s, which AWS_CA_BUNDLE names, has no certificate", printable(env.bundle)), Hint: "it is a file in PEM, with lines that say BEGIN CERTIFICATE"}
		}
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}
	return &transport{RoundTripper: &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &watched{Conn: c, idle: idle}, nil
		},
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trust},
		TLSHandshakeTimeout:    15 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxFields,
		DisableCompression:     true, // ranges are of the object as it is
	}}, nil
}

// watched is a connection that ends where nothing passes for too long, in either
// direction: a body that is sent keeps the answer waiting.
type watched struct {
	net.Conn
	idle time.Duration
}

func (c *watched) Read(b []byte) (int, error) {
	_ = c.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Read(b)
}

func (c *watched) Write(b []byte) (int, error) {
	// A large write may take longer than that and still move.
	const piece = 64 << 10
	done := 0
	for {
		_ = c.SetDeadline(time.Now().Add(c.idle))
		n, err := c.Conn.Write(b[done:min(done+piece, len(b))])
		done += n
		if err != nil || done == len(b) {
			return done, err
		}
	}
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if f, ok := req.Context().Value(fetchesKey{}).(*fetches); ok && f.pages.Add(1) > f.most.Load() {
		return nil, errEmpty
	}
	began := time.Now()
	req, body := sending(req)
	resp, err := t.RoundTripper.RoundTrip(req)
	body.end()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	// Where the answer took long, it is not known when in between it was dated.
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil && now.Sub(began) < 5*time.Second {
		// The date has no fractions: on average half a second is missing.
		skew := date.Add(500 * time.Millisecond).Sub(now)
		if skew == 0 {
			skew = 1
		}
		t.skew.Store(int64(skew))
	}
	if q := req.URL.Query(); q.Has("list-type") || q.Has("location") || q.Has("uploads") || q.Has("uploadId") && req.Method == http.MethodPost {
		resp.Body = &page{from: resp.Body, left: maxPage}
	}
	return resp, nil
}

// errPage says that a page of a listing is larger than any page can be.
var errPage = errors.New("the server answers with more than a page can have")

// errEmpty says that a listing does not end, though nothing comes.
var errEmpty = errors.New("the server gives one page after the other, and nothing in them")

// page is a body that fails behind so many bytes.
type page struct {
	from io.ReadCloser
	left int64
}

func (p *page) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, errPage
	}
	n, err := p.from.Read(b[:min(int64(len(b)), p.left)])
	p.left -= int64(n)
	return n, err
}

func (p *page) Close() error { return p.from.Close() }
