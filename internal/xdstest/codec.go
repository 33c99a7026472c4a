package xdstest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/session"
)

// envelope carries a message through gRPC together with the account that its
// bytes belong to: the codec is the only place that sees both.
type envelope struct {
	message any
	account *streamAccount
	side    session.Side // who sends it
}

// codec is the proto codec that also fills accounts. It has no name, so that
// the content-type stays the plain "application/grpc" that others send.
type codec struct{}

func (codec) Name() string { return "" }

// Marshal runs before the first byte is written, hence before the other end
// can react: what it adds to an account precedes every consequence.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	e, ok := v.(*envelope)
	if !ok {
		e = &envelope{message: v}
	}
	m, ok := e.message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("cannot marshal %T: not a proto message", e.message)
	}
	data, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	e.account.message(e.side, data, m)
	return mem.BufferSlice{mem.SliceBuffer(data)}, nil
}

func (codec) Unmarshal(buffers mem.BufferSlice, v any) error {
	e, ok := v.(*envelope)
	if !ok {
		e = &envelope{message: v}
	}
	m, ok := e.message.(proto.Message)
	if !ok {
		return fmt.Errorf("cannot unmarshal into %T: not a proto message", e.message)
	}
	data := buffers.Materialize()
	if err := proto.Unmarshal(data, m); err != nil {
		return err
	}
	e.account.message(e.side, data, m)
	return nil
}

// accountStreams is the server's interceptor that keeps the account.
func accountStreams(a *Account) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		md, _ := metadata.FromIncomingContext(ss.Context())
		from := ""
		if p, ok := peer.FromContext(ss.Context()); ok {
			from = p.Addr.String()
		}
		acc := a.open(info.FullMethod, from, md)
		err := next(srv, &serverStream{ServerStream: ss, account: acc})
		st := status.Convert(err)
		acc.end(st.Code(), st.Message())
		return err
	}
}

// admitStreams is the server's interceptor that refuses streams.
func admitStreams(admit func(metadata.MD) error) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if admit != nil {
			md, _ := metadata.FromIncomingContext(ss.Context())
			if err := admit(md); err != nil {
				return err
			}
		}
		return next(srv, ss)
	}
}

type serverStream struct {
	grpc.ServerStream
	account *streamAccount
}

func (s *serverStream) SendMsg(m any) error {
	return s.ServerStream.SendMsg(&envelope{m, s.account, session.Server})
}

func (s *serverStream) RecvMsg(m any) error {
	return s.ServerStream.RecvMsg(&envelope{m, s.account, session.Client})
}

// accountClient is the client's counterpart of accountStreams.
func accountClient(a *Account) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		md, _ := metadata.FromOutgoingContext(ctx)
		cs, err := open(ctx, desc, cc, method, opts...)
		if err != nil {
			return nil, err
		}
		return &clientStream{ClientStream: cs, account: a.open(method, "", md)}, nil
	}
}

type clientStream struct {
	grpc.ClientStream
	account *streamAccount
	ended   bool // owned by the goroutine that receives
}

func (c *clientStream) SendMsg(m any) error {
	return c.ClientStream.SendMsg(&envelope{m, c.account, session.Client})
}

func (c *clientStream) RecvMsg(m any) error {
	err := c.ClientStream.RecvMsg(&envelope{m, c.account, session.Server})
	if err != nil && !c.ended {
		c.ended = true
		if errors.Is(err, io.EOF) {
			err = nil
		}
		st := status.Convert(err)
		c.account.end(st.Code(), st.Message())
		if err == nil {
			err = io.EOF
		}
	}
	return err
}
