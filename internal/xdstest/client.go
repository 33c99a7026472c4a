package xdstest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// ClientOptions configure a scripted client.
type ClientOptions struct {
	// Dial is where the management server, or what stands before it, listens:
	// host:port or unix:/path.
	Dial string
	// Node is who the client says it is; its id selects the world.
	Node *corev3.Node
	// Account is filled with what the client sends and receives; nil keeps none.
	Account *Account
	// Retry is the pause before a new stream after one that ended. 0 means
	// 200 ms. There is no jitter: a story should read the same every time.
	Retry time.Duration
}

func (o ClientOptions) connect() (*grpc.ClientConn, error) {
	return grpc.NewClient(target(o.Dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithStreamInterceptor(accountClient(o.Account)),
	)
}

// keepStream runs one stream after the other until ctx is done.
func (o ClientOptions) keepStream(ctx context.Context, one func(context.Context, *grpc.ClientConn) error) error {
	if o.Retry == 0 {
		o.Retry = 200 * time.Millisecond
	}
	for {
		// A new connection for each stream, so that the end of one does not
		// leave the next in gRPC's own backoff.
		conn, err := o.connect()
		if err != nil {
			return fmt.Errorf("cannot dial %s: %w", o.Dial, err)
		}
		_ = one(ctx, conn) // a stream that ends is what the next one is for
		conn.Close()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.Retry):
		}
	}
}

// board is a value that others wait on.
type board[T any] struct {
	mu      sync.Mutex
	value   T
	changed chan struct{}
}

func newBoard[T any](v T) *board[T] {
	return &board[T]{value: v, changed: make(chan struct{})}
}

func (b *board[T]) update(f func(*T)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.value)
	close(b.changed)
	b.changed = make(chan struct{})
}

// wait blocks until cond holds. cond must not keep what it is given.
func (b *board[T]) wait(ctx context.Context, cond func(T) bool) error {
	for {
		b.mu.Lock()
		ok, changed := cond(b.value), b.changed
		b.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
