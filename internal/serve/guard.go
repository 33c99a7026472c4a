package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"runtime/debug"
	"strings"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	// viewerKey is in the trailers of every answer to a viewer, by which it knows
	// what it talks to before it tells a token.
	viewerKey  = "xdsproxy-viewer"
	tokenKey   = "authorization"
	tokenWords = "Bearer "
	// MinToken is the least length of a token that somebody chose.
	MinToken = 16
	// TokenVariable holds the token itself. It is no setting: what is one gets
	// printed.
	TokenVariable = "XDSPROXY_VIEWER_TOKEN"
)

// NewToken is a token that nobody can guess.
func NewToken() string { return rand.Text() }

// guard stands before every call: it asks for the token, and keeps a panic from
// ending the proxy.
type guard struct {
	token   string // "": nobody is asked
	trailer string // "": none
	logger  *zap.Logger
}

// admit says whether a call may be made.
func (g *guard) admit(ctx context.Context) error {
	if g.token == "" {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	given := md.Get(tokenKey)
	if len(given) == 0 {
		return status.Error(codes.Unauthenticated, "a token is required")
	}
	got, ok := strings.CutPrefix(given[0], tokenWords)
	// Of equal length, so that the time tells nothing of that either.
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(g.token))
	if subtle.ConstantTimeCompare(a[:], b[:]) != 1 || !ok || len(given) > 1 {
		return status.Error(codes.Unauthenticated, "the token is wrong")
	}
	return nil
}

// mark is the trailer of every answer.
func (g *guard) mark() metadata.MD {
	if g.trailer == "" {
		return nil
	}
	return metadata.Pairs(g.trailer, "1")
}

func (g *guard) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (reply any, err error) {
	_ = grpc.SetTrailer(ctx, g.mark()) // it fails only outside of a call
	if err := g.admit(ctx); err != nil {
		return nil, err
	}
	defer g.recover(&err)
	return h(ctx, req)
}

func (g *guard) stream(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) (err error) {
	s.SetTrailer(g.mark())
	if err := g.admit(s.Context()); err != nil {
		return err
	}
	defer g.recover(&err)
	return h(srv, s)
}

// recover turns a panic into an error of the call.
func (g *guard) recover(err *error) {
	if cause := recover(); cause != nil {
		g.logger.Error("serving a viewer failed; forwarding and recording go on", zap.ByteString("stack", debug.Stack()))
		*err = status.Error(codes.Internal, "the call failed")
	}
}
