// rawrelay is the least a gRPC-level relay can do: forward every message's
// bytes unread, with grpc-go and a raw codec. It is a yardstick, not a design:
// it rewrites headers, answers PINGs itself and holds a message before it
// forwards the first byte.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
)

type frame struct{ data mem.BufferSlice }

type codec struct{}

var _ encoding.CodecV2 = codec{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) { return v.(*frame).data, nil }

func (codec) Unmarshal(d mem.BufferSlice, v any) error {
	d.Ref()
	v.(*frame).data = d
	return nil
}

const maxMessage = 1 << 30

func main() {
	listen := flag.String("listen", "127.0.0.1:18001", "address to accept clients on")
	upstream := flag.String("upstream", "127.0.0.1:18000", "address of the management server")
	flag.Parse()

	cc, err := grpc.NewClient(*upstream, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithInitialWindowSize(1<<20), grpc.WithInitialConnWindowSize(1<<22))
	if err != nil {
		log.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(codec{}), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.MaxConcurrentStreams(1<<20), grpc.InitialWindowSize(1<<20), grpc.InitialConnWindowSize(1<<22),
		grpc.UnknownServiceHandler(func(_ any, in grpc.ServerStream) error { return relay(cc, in) }))
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(s.Serve(l))
}

func relay(cc *grpc.ClientConn, in grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(in)
	md, _ := metadata.FromIncomingContext(in.Context())
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(in.Context(), md.Copy()))
	defer cancel()
	out, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	go func() {
		for {
			var f frame
			if err := in.RecvMsg(&f); errors.Is(err, io.EOF) {
				out.CloseSend()
				return
			} else if err != nil {
				cancel()
				return
			}
			if err := out.SendMsg(&f); err != nil {
				return
			}
		}
	}()
	for {
		var f frame
		if err := out.RecvMsg(&f); err != nil {
			in.SetTrailer(out.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := in.SendMsg(&f); err != nil {
			return err
		}
	}
}
