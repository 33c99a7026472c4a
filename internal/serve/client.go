package serve

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/internal/serve/viewerpb"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// maxReply is the largest answer that is read, in bytes.
	maxReply = 1 << 20
	// window is how much of a stream is on its way to us at a time.
	window = 1 << 20
	// answerTime is how long the first answer may take.
	answerTime = 10 * time.Second
	// inquiries are how often it is asked for that before it is called no viewer
	// endpoint, where each time the other end hangs up.
	inquiries    = 10
	inquiryPause = 100 * time.Millisecond
)

// Options say how a Client behaves.
type Options struct {
	// Token is told to who asks for it.
	Token string
	// MinBackoff and MaxBackoff bound the pauses between attempts to get a lost
	// connection back, which double; 1 s and 10 s if zero. GiveUp is after how
	// long without one it is given up; never if zero.
	MinBackoff, MaxBackoff, GiveUp time.Duration
	// State is told when a connection is lost, before each attempt to get it
	// back, and when it is back. It is called by who waits in Next.
	State func(State)
}

// State is that of the connection of a Reader.
type State struct {
	Detached time.Time // since when there is none; zero if there is one
	Retry    int       // which attempt comes next, from 1
	Cause    error     // why it was lost, or could not be had
}

// Info is what a proxy says of itself and of its recording.
type Info struct {
	Recording string // by which it is known
	Program   string
	Pairs     []Pair
	Facts     recorder.Facts // of what had been written; Path is "memory" where there is no file
	// PastForgotten is how often what is over was forgotten there; nil if it
	// does not say.
	PastForgotten *uint64
}

// Client knows a running proxy. It holds no connection: each of its Readers has
// its own. Its methods may be called from any goroutine.
type Client struct {
	network, address string
	o                Options

	mu   sync.Mutex
	ask  bool // it wants the token
	info Info
}

// Dial asks the proxy at address, of network tcp or unix, what it serves. The
// error is an *Error.
func Dial(ctx context.Context, network, address string, o Options) (*Client, error) {
	if o.MinBackoff <= 0 {
		o.MinBackoff = time.Second
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = 10 * time.Second
	}
	c := &Client{network: network, address: address, o: o}
	if _, err := c.Refresh(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Info is what was said last.
func (c *Client) Info() Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info
}

// Refresh asks again. A proxy that is asked by a crowd makes room by hanging up on
// who has not spoken yet: who is hung up on tries again.
func (c *Client) Refresh(ctx context.Context) (Info, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for try := 1; ; try++ {
		info, hungUp, err := c.inquire(ctx)
		if !hungUp || try == inquiries {
			return info, err
		}
		select {
		case <-ctx.Done():
			return info, err
		case <-time.After(inquiryPause):
		}
	}
}

// inquire asks on a connection of its own. hungUp says that there was one, and that
// the other end closed it.
func (c *Client) inquire(ctx context.Context) (info Info, hungUp bool, err error) {
	l, err := c.connect()
	if err != nil {
		return Info{}, false, err
	}
	defer l.close()
	var trailer metadata.MD
	reply, err := l.api.Info(c.authorized(ctx), &viewerpb.InfoRequest{}, grpc.Trailer(&trailer))
	if status.Code(err) == codes.Unauthenticated && len(trailer.Get(viewerKey)) > 0 && !c.asks() && c.o.Token != "" {
		// Only to a viewer endpoint: who mistakes the port for it must not tell
		// the control plane a secret.
		c.mu.Lock()
		c.ask = true
		c.mu.Unlock()
		reply, err = l.api.Info(c.authorized(ctx), &viewerpb.InfoRequest{}, grpc.Trailer(&trailer))
	}
	if err != nil {
		hungUp = status.Code(err) == codes.Unavailable && l.dialled() == nil
		return Info{}, hungUp, c.explain(err, l, len(trailer.Get(viewerKey)) > 0)
	}
	info = infoOf(reply)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.info = info
	return info, false, nil
}

func infoOf(r *viewerpb.InfoReply) Info {
	i := Info{Recording: r.Recording, Program: r.Program, PastForgotten: r.PastForgotten, Facts: recorder.Facts{
		Path: r.Name, Version: r.Format, Created: timeOf(r.Created), Program: r.Program, Masked: r.Masked,
		Complete: r.Complete, Entries: r.Entries, Messages: r.Messages, Connections: r.Connections,
		Streams: r.Streams, Gaps: r.Gaps, Lost: r.Lost, First: timeOf(r.First), Last: timeOf(r.Last),
		LastSeq: session.Seq(r.LastSeq), Bytes: r.Bytes, MessageBytes: r.MessageBytes,
	}}
	for _, p := range r.Pairs {
		i.Pairs = append(i.Pairs, Pair{Listen: p.Listen, Upstream: p.Upstream})
	}
	return i
}

func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

func (c *Client) asks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ask
}

func (c *Client) authorized(ctx context.Context) context.Context {
	if !c.asks() {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, tokenKey, tokenWords+c.o.Token)
}

// link is one connection.
type link struct {
	conn *grpc.ClientConn
	api  viewerpb.ViewerClient

	mu   sync.Mutex
	dial error // why there is none
}

// connect begins a connection, which the first call makes.
func (c *Client) connect() (*link, error) {
	l := &link{}
	conn, err := grpc.NewClient("passthrough:///viewer",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, c.network, c.address)
			l.mu.Lock()
			l.dial = err
			l.mu.Unlock()
			return conn, err
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReply)),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, &Error{Kind: NoViewer, Address: c.String(), Err: err}
	}
	l.conn, l.api = conn, viewerpb.NewViewerClient(conn)
	return l, nil
}

func (l *link) close() { _ = l.conn.Close() } // it fails only when closed twice

func (l *link) dialled() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dial
}

// String is the address as people write it.
func (c *Client) String() string {
	if c.network == "unix" {
		return "unix:" + c.address
	}
	return c.address
}

// explain makes an *Error of what a call returned. viewer says that the answer
// came from a viewer endpoint.
func (c *Client) explain(err error, l *link, viewer bool) error {
	e := &Error{Address: c.String(), Kind: NoViewer, Err: err}
	said, ok := status.FromError(err)
	if ok {
		e.Err = errors.New(said.Message())
	}
	code := said.Code()
	switch dial := l.dialled(); {
	case code == codes.Canceled:
		e.Kind, e.Err = Lost, context.Canceled
	case dial != nil:
		e.Kind, e.Err = Unreachable, dial
	case code == codes.Unavailable && !viewer && c.Info().Recording != "": // it was one when it was asked first
		e.Kind = Lost
	case code == codes.DeadlineExceeded:
		e.Err = errors.New("it gives no answer")
	case code == codes.Unauthenticated && viewer && c.o.Token == "":
		e.Kind = TokenMissing
	case code == codes.Unauthenticated && viewer:
		e.Kind = TokenWrong
	case code == codes.ResourceExhausted && viewer:
		e.Kind = TooMany
	case code == codes.FailedPrecondition && viewer:
		e.Kind = OtherRecording
	case viewer:
		e.Kind = Refused
	}
	return e
}
