package configdump

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Admin is the admin endpoint of an Envoy.
type Admin struct {
	base   string // a URL without a path
	client *http.Client
}

// patience is how long one answer may take.
const patience = 20 * time.Second

// DumpPath asks for all that there is, with endpoints.
const DumpPath = "/config_dump?include_eds"

// NewAdmin is an endpoint below a URL that has no path. The client bounds how long an
// answer may take.
func NewAdmin(base string, client *http.Client) *Admin { return &Admin{base, client} }

// ParseAdmin reads an address such as "127.0.0.1:9901", or a URL of the endpoint.
// It is not asked across a network: an admin endpoint has no protection.
func ParseAdmin(addr string) (*Admin, error) {
	addr = strings.TrimSpace(addr)
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return nil, errors.New("neither an address such as 127.0.0.1:9901 nor a URL")
	case u.Scheme != "http":
		return nil, errors.New("an admin endpoint speaks http")
	case u.Port() == "":
		return nil, errors.New("the port is missing")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, errors.New("not an address of this machine's loopback")
	}
	return NewAdmin("http://"+u.Host, &http.Client{
		Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}), nil
}

// Refused is an answer that is not 200.
type Refused struct {
	Code int
	Said string // the first bytes of what it says
}

func (r *Refused) Error() string { return fmt.Sprintf("it answers %d: %q", r.Code, r.Said) }

// Get asks for a path. It reads one byte more than the most, so that the caller sees
// that there was more.
func (a *Admin) Get(ctx context.Context, path string, most int64) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := a.client.Do(q)
	if err != nil {
		if op, is := errors.AsType[*net.OpError](err); is {
			err = op
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return nil, &Refused{resp.StatusCode, string(bytes.TrimSpace(said))}
	}
	return io.ReadAll(io.LimitReader(resp.Body, most+1))
}

// Fetch asks for the dump.
func (a *Admin) Fetch(ctx context.Context) (*Dump, error) {
	data, err := a.Get(ctx, DumpPath, MaxBytes)
	if err != nil {
		return nil, err
	}
	return Read(data)
}

// grace is how long an answer may still take that was asked for in time.
const grace = time.Second

// pause is between two looks at an Envoy that is still at work.
const pause = 200 * time.Millisecond

// Settled asks until Envoy says the same twice in a row and nothing is warming, or
// until the time is over. A cluster comes into use some time after the ACK.
func (a *Admin) Settled(ctx context.Context, within time.Duration) (*Dump, error) {
	over := time.Now().Add(within)
	ctx, cancel := context.WithDeadline(ctx, over.Add(grace))
	defer cancel()
	var last [32]byte
	for {
		d, err := a.Fetch(ctx)
		if err != nil {
			return nil, err
		}
		now := d.sum()
		if now == last && !d.Warming() || time.Until(over) <= 0 {
			return d, nil
		}
		last = now
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(pause, max(0, time.Until(over)))):
		}
	}
}

// sum is equal for dumps that say the same. Endpoints count by their names only:
// their health changes at any time.
func (d *Dump) sum() [32]byte {
	var lines []string
	for i := range d.Resources {
		r := &d.Resources[i]
		hash := r.Hash
		if r.Type == "EDS" {
			hash = [16]byte{}
		}
		lines = append(lines, fmt.Sprintf("%s %q %s %q %x", r.Type, r.Name, r.State, r.Version, hash))
	}
	slices.Sort(lines)
	return sha256.Sum256([]byte(strings.Join(lines, "\n")))
}
