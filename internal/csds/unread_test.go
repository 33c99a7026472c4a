package csds_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/internal/csds"
)

// Callers that ask and do not read take no more than a few answers of memory, and
// others are told why there is none for them, until those have read or left.
func TestCallersThatDoNotRead(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 3000 {
		names = append(names, fmt.Sprintf("cluster-%080d#1", i))
	}
	v := play(t, "C> type=CDS V= N= R=[] node=a\nS< type=CDS V=1 N=x res=["+strings.Join(names, ", ")+"]\nC> type=CDS V=1 N=x R=[]\n")
	v.Most = 2 << 20
	s := csds.NewServer(v, zap.NewNop())
	s.Ready()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(l, "")
	defer s.Close()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithInitialWindowSize(64<<10),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := statusv3.NewClientStatusDiscoveryServiceClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fetch := func() error {
		_, err := client.FetchClientStatus(ctx, &statusv3.ClientStatusRequest{})
		return err
	}
	if err := fetch(); err != nil {
		t.Fatal(err)
	}
	deaf, leave := context.WithCancel(ctx)
	defer leave()
	ask := func() {
		stream, err := client.StreamClientStatus(deaf)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_ = stream.Send(&statusv3.ClientStatusRequest{}) // it may be refused by now
		}
	}
	for range 30 {
		ask()
	}
	for {
		ask() // while what is fetched is on its way, it may be all that there is room for
		err := fetch()
		if status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "do not read") {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	leave()
	for fetch() != nil {
		if ctx.Err() != nil {
			t.Fatal("those who have left are still waited for")
		}
		runtime.GC() // what gRPC drops with a call is counted until it is collected
		time.Sleep(10 * time.Millisecond)
	}
}
