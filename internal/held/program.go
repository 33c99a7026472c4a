package held

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// program asks a gRPC program by CSDS.
type program struct {
	place  *Place
	access *Access
	last   [sha256.Size]byte // of the answer that was read last
}

const statusMethod = "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus"

// ask returns nil if the program says what it said before, byte for byte.
func (p *program) ask(ctx context.Context, again bool) (*answer, error) {
	data, err := p.fetch(ctx)
	if err != nil {
		return nil, err
	}
	now := sha256.Sum256(data)
	if now == p.last && !again {
		return nil, nil
	}
	a, err := fromStatus(data)
	if err == nil {
		p.last = now
	}
	return a, err
}

func (p *program) fetch(ctx context.Context) ([]byte, error) {
	creds := insecure.NewCredentials()
	if p.place.TLS {
		config, err := p.access.tls()
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(config)
	}
	token, err := p.access.authorization()
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 1)
	target := "passthrough:///" + p.place.Address
	if p.place.Network == "unix" {
		target = "passthrough:///localhost"
	}
	conn, err := grpc.NewClient(
		target, grpc.WithTransportCredentials(creds), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostBytes)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			c, err := dial(ctx, p.place)
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
			return c, err
		}),
	)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", token)
	}
	// What an Empty does not know, which is all, it keeps as it came.
	said := &emptypb.Empty{}
	if err := conn.Invoke(ctx, statusMethod, &emptypb.Empty{}, said); err != nil {
		select {
		case cause := <-failed:
			return nil, faultOf(cause)
		default:
			return nil, faultOfStatus(status.Convert(err))
		}
	}
	return said.ProtoReflect().GetUnknown(), nil
}

// faultOfStatus says what an answer of gRPC means.
func faultOfStatus(s *status.Status) error {
	f := &fault{kind: "grpc " + s.Code().String(), text: fmt.Sprintf("it answers %s: %s", s.Code(), quoted(s.Message()))}
	switch s.Code() {
	case codes.Unimplemented:
		f.text, f.hint = "it has no client status service", "a gRPC program has to register one (CSDS), such as by google.golang.org/grpc/xds/csds"
	case codes.Unauthenticated, codes.PermissionDenied:
		f.text, f.hint = fmt.Sprintf("it answers %s: it wants to know who asks", s.Code()), hintToken
	case codes.ResourceExhausted:
		return tooLong()
	case codes.DeadlineExceeded:
		return faultOf(context.DeadlineExceeded)
	case codes.Unavailable:
		f = faultOf(errors.New(s.Message()))
		f.kind = "grpc " + s.Code().String()
		if f.hint == "" {
			f.hint = "does it speak gRPC there? " + hintTLS
		}
	}
	return f
}
