package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// talker is a client that asks for all clusters, accepts what it is told, and
// writes the versions on lines. On the line "end" it sends no more, on the line
// "again" it begins a new stream.
type talker struct {
	name  string
	need  func(t *testing.T)
	start func(t *testing.T, addr, node string, s *secured) (said *lines, commands io.WriteCloser)
}

func talkers() []talker {
	js := func(t *testing.T) string { return filepath.Dir(tool(t, "grpc-js", "node_modules")) }
	return []talker{
		{"grpc-go", func(*testing.T) {}, talkGo},
		{"grpc-js", func(t *testing.T) { js(t) }, func(t *testing.T, addr, node string, s *secured) (*lines, io.WriteCloser) {
			options := object{"addr": addr, "node": node}
			if s != nil {
				options["name"], options["ca"] = "xdsproxy.example", filepath.Join(s.dir, "grpc/xdsproxy-ca.pem")
				options["cert"], options["key"] = filepath.Join(s.dir, "grpc/client.pem"), filepath.Join(s.dir, "grpc/client.key")
			}
			text, err := json.Marshal(options)
			if err != nil {
				t.Fatal(err)
			}
			return talkProcess(t, exec.Command("node", "testdata/grpc-js/ads.js", js(t), string(text)))
		}},
	}
}

func talkProcess(t *testing.T, cmd *exec.Cmd) (*lines, io.WriteCloser) {
	t.Helper()
	out, noise := newLines(), newLines()
	cmd.Stdout, cmd.Stderr = out, noise
	commands, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("output of %s:\n%s\n%s", cmd.Args[0], out, noise)
		}
	})
	return out, commands
}

func talkGo(t *testing.T, addr, node string, s *secured) (*lines, io.WriteCloser) {
	t.Helper()
	secure := insecure.NewCredentials()
	if s != nil {
		secure = credentials.NewTLS(s.client(t, "grpc/client"))
	}
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(secure))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	out := newLines()
	w := &goTalker{t: t, conn: conn, node: node, out: out}
	w.begin()
	return out, w
}

// goTalker takes the commands of a talker.
type goTalker struct {
	t      *testing.T
	conn   *grpc.ClientConn
	node   string
	out    *lines
	stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient
}

func (g *goTalker) Write(line []byte) (int, error) {
	switch string(line) {
	case "end\n":
		return len(line), g.stream.CloseSend()
	case "again\n":
		g.begin()
	}
	return len(line), nil
}

func (g *goTalker) Close() error { return g.conn.Close() }

func (g *goTalker) begin() {
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(g.conn).StreamAggregatedResources(context.Background())
	if err == nil {
		err = stream.Send(&discovery.DiscoveryRequest{TypeUrl: resource.ClusterType, Node: &corev3.Node{Id: g.node}})
	}
	if err != nil {
		g.t.Fatal(err)
	}
	g.stream = stream
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				fmt.Fprintf(g.out, "ended %d\n", status.Code(err))
				return
			}
			_ = stream.Send(&discovery.DiscoveryRequest{TypeUrl: resource.ClusterType, VersionInfo: r.VersionInfo, ResponseNonce: r.Nonce})
			fmt.Fprintf(g.out, "version %s\n", r.VersionInfo)
		}
	}()
}
