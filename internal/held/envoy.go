package held

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
)

// envoy asks an Envoy by its admin endpoint.
type envoy struct {
	place  *Place
	access *Access
	files  bool              // it subscribes to files
	last   [sha256.Size]byte // of the texts that were read last
}

// mostStats bounds what else than the dump is read.
const mostStats = 4 << 20

// ask returns nil if the Envoy says what it said before, byte for byte.
func (e *envoy) ask(ctx context.Context, again bool) (*answer, error) {
	client, done, err := e.client()
	if err != nil {
		return nil, err
	}
	defer done()
	admin := configdump.NewAdmin(e.place.base(), client)
	dump, err := admin.Get(ctx, configdump.DumpPath, mostBytes)
	if err != nil {
		return nil, err
	}
	if len(dump) > mostBytes {
		return nil, tooLong()
	}
	// That nothing is there must be said, and not follow from a failure.
	waits, err := optional(admin.Get(ctx, "/init_dump", mostStats))
	if err != nil {
		return nil, err
	}
	stats, err := optional(admin.Get(ctx, e.statsPath(), mostStats))
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	for _, text := range [][]byte{dump, waits, stats} {
		one := sha256.Sum256(text)
		sum.Write(one[:])
	}
	now := [sha256.Size]byte(sum.Sum(nil))
	if now == e.last && !again {
		return nil, nil
	}
	read, err := configdump.Read(dump)
	if err != nil {
		return nil, unlike(dump, err)
	}
	a, err := fromDump(read)
	if err != nil {
		return nil, err
	}
	if len(waits) > 0 && len(waits) <= mostStats {
		a.addUnready(waits)
	}
	if len(stats) <= mostStats {
		a.addStats(stats)
	}
	e.last = now
	return a, nil
}

// optional takes it for nothing if an Envoy is too old to have a path.
func optional(text []byte, err error) ([]byte, error) {
	if r, is := errors.AsType[*configdump.Refused](err); is && r.Code == http.StatusNotFound {
		return nil, nil
	}
	return text, err
}

// client makes connections that show the token. It follows no redirects: a token
// is for the one who was named.
func (e *envoy) client() (c *http.Client, done func(), err error) {
	config, err := e.access.tls()
	if err != nil {
		return nil, nil, err
	}
	token, err := e.access.authorization()
	if err != nil {
		return nil, nil, err
	}
	t := &http.Transport{
		TLSClientConfig: config, DisableCompression: true,
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, e.place) },
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{
		Transport:     &bearer{t, token},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, t.CloseIdleConnections, nil
}

// bearer adds a token to requests.
type bearer struct {
	of    http.RoundTripper
	token string
}

func (b *bearer) RoundTrip(q *http.Request) (*http.Response, error) {
	if b.token != "" {
		q = q.Clone(q.Context())
		q.Header.Set("Authorization", b.token)
	}
	return b.of.RoundTrip(q)
}
