package s3test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"testing"
)

// Between stands between a client and a server, and does with each request what the
// test says.
type Between struct {
	URL string // https if the server's is
	CA  string

	forward *httputil.ReverseProxy
	mu      sync.Mutex
	hook    func(w http.ResponseWriter, r *http.Request, forward http.Handler)
}

// Stand puts somebody in front of s, and makes the AWS variables name it.
func (s *Server) Stand() *Between {
	s.t.Helper()
	backend, err := url.Parse(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	b := &Between{}
	b.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(backend)
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { Drop(w) },
	}
	front := httptest.NewUnstartedServer(http.HandlerFunc(b.serve))
	front.Config.ErrorLog = nil
	if s.CA != "" {
		b.forward.Transport = trusting(s.t, s.CA)
		cert, key := certificate(s.t)
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			s.t.Fatal(err)
		}
		front.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		front.StartTLS()
		b.CA = cert
	} else {
		front.Start()
	}
	s.t.Cleanup(func() {
		b.Set(nil)
		front.CloseClientConnections()
		front.Close()
	})
	b.URL = front.URL
	s.Environment(b.URL, b.CA)
	return b
}

// Set says what to do with requests from now on; nil lets them through.
func (b *Between) Set(hook func(w http.ResponseWriter, r *http.Request, forward http.Handler)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hook = hook
}

func (b *Between) serve(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	hook := b.hook
	b.mu.Unlock()
	if hook == nil {
		b.forward.ServeHTTP(w, r)
		return
	}
	hook(w, r, b.forward)
}

// Drop ends the connection without an answer.
func Drop(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if c, _, err := h.Hijack(); err == nil {
			_ = c.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}

// DropAfter ends the connection once n bytes of the body have come.
func DropAfter(w http.ResponseWriter, r *http.Request, n int64) {
	_, _ = io.CopyN(io.Discard, r.Body, n)
	Drop(w)
}

// Refuse answers as S3 does.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>made by a test</Message></Error>", code)
}

// LoseAnswer lets the server do what it is asked, and tells nobody.
func LoseAnswer(w http.ResponseWriter, r *http.Request, forward http.Handler) (status int) {
	rec := httptest.NewRecorder()
	forward.ServeHTTP(rec, r)
	Drop(w)
	return rec.Code
}

// HalfAnswer gives the first half of the body of the answer, and then ends the
// connection.
func HalfAnswer(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	rec := httptest.NewRecorder()
	forward.ServeHTTP(rec, r)
	for k, v := range rec.Header() {
		w.Header()[k] = v
	}
	body := rec.Body.Bytes()
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(rec.Code)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func trusting(t testing.TB, ca string) *http.Transport {
	t.Helper()
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 16}
}
