package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// assistantCalls are tools with their arguments.
const assistantCalls = `clients {}
clients {"at": 5}
clients {"at": 400}
tree {"client": "gw-1"}
tree {"client": "gw-1", "at": 35}
tree {}
tree {"client": "gw-7"}
timeline {"filter": "client:gw-0", "from": 6}
timeline {"filter": "kind:nack", "unfolded": true}
timeline {"filter": "type:sds"}
timeline {"filter": "colour:red"}
entry {"seq": 5}
entry {"seq": 5, "resource": "api"}
entry {"seq": 5, "resource": "none"}
entry {"seq": 1, "resource": "api"}
entry {"seq": 5, "path": "message.version_info"}
entry {"seq": 5, "path": "message.nothing"}
entry {"seq": 5, "path": "message", "resource": "api"}
entry {"seq": 400}
check {}
check {"severity": "error"}
check {"rule": "nack-received"}
check {"rule": "nack-received", "severity": "error"}
check {"rule": "nack-recieved"}
explain {"rule": "nack-received"}
explain {"rule": "nack-recieved"}
diff {"name": "api", "client": "gw-1"}
diff {"name": "api", "client": "gw-1", "type": "cds", "all": true}
diff {"name": "api", "client": "gw-1", "from": "v2", "to": "v1"}
diff {"name": "none"}
`

// What an assistant is answered, of a script and of what is not there.
func TestAssistantIsAnswered(t *testing.T) {
	plainHome(t)
	here, _ := filled(t)
	var b strings.Builder
	for _, source := range []string{"loop.xds", "nowhere.xdsp"} {
		in, ask := io.Pipe()
		answers, out := io.Pipe()
		var said bytes.Buffer
		ended := make(chan int, 1)
		go func() {
			ended <- main1([]string{"mcp", source}, in, out, &said)
			_ = out.Close()
		}()
		lines := bufio.NewScanner(answers)
		lines.Buffer(nil, 1<<20)
		id := 0
		call := func(method, params string) json.RawMessage {
			id++
			if _, err := fmt.Fprintf(ask, `{"jsonrpc": "2.0", "id": %d, "method": %q, "params": %s}`+"\n", id, method, params); err != nil || !lines.Scan() {
				t.Fatal(err, lines.Err())
			}
			var a struct{ Result, Error json.RawMessage }
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				t.Fatal(err)
			}
			return append(a.Result, a.Error...)
		}
		call("initialize", `{"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}`)
		if _, err := io.WriteString(ask, `{"jsonrpc": "2.0", "method": "notifications/initialized"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(assistantCalls) {
			name, arguments, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			fmt.Fprintf(&b, "== %s: %s", source, line)
			var r struct {
				StructuredContent json.RawMessage
				Content           []struct{ Text string }
			}
			if err := json.Unmarshal(call("tools/call", fmt.Sprintf(`{"name": %q, "arguments": %s}`, name, arguments)), &r); err != nil {
				t.Fatal(err)
			}
			if text := r.StructuredContent; len(text) > 0 {
				var indented bytes.Buffer
				if err := json.Indent(&indented, text, "", " "); err != nil {
					t.Fatal(err)
				}
				b.WriteString(indented.String() + "\n")
			} else {
				for _, c := range r.Content {
					b.WriteString(c.Text + "\n")
				}
			}
		}
		_ = ask.Close()
		if code := <-ended; code != 0 {
			t.Errorf("it ends with %d", code)
		}
		b.WriteString("== said\n" + said.String())
	}
	golden.Is(t, filepath.Join(here, "testdata", "assistant.txt"), b.String())
}

// Who asks for the status of clients is answered of what is there, and of damage as
// far as it can be read.
func TestStatusIsServed(t *testing.T) {
	plainHome(t)
	_, dir := filled(t)
	for _, c := range []struct {
		source, client string
		in             string // a file
		clients        []string
		said           string
	}{
		{"loop.xds", "", "", []string{"gw-0", "gw-1"}, ""},
		{"loop.xds", "gw-1", "", []string{"gw-1"}, ""},
		{"nack.xdsp", "", "", []string{"envoy"}, ""},
		{"cut.xdsp", "", "", []string{"envoy"}, ""},
		{"torn.xdsp", "", "", nil, "xdsproxy: warning: torn.xdsp is damaged at byte "},
		{"-", "", "nack.xdsp", []string{"envoy"}, ""},
	} {
		var said bytes.Buffer
		ctx, stop := context.WithCancel(t.Context())
		a := &cli{ctx: ctx, stdin: strings.NewReader(""), stdout: io.Discard, stderr: &said}
		a.config = settings.New()
		if c.in != "" {
			b, err := os.ReadFile(c.in)
			if err != nil {
				t.Fatal(err)
			}
			a.stdin = bytes.NewReader(b)
		}
		socket := "unix:" + filepath.Join(dir, "csds")
		ended := make(chan error, 1)
		go func() { ended <- a.serveCSDS(ctx, c.source, socket, c.client) }()
		cc, err := grpc.NewClient(socket, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			r, err := statusv3.NewClientStatusDiscoveryServiceClient(cc).FetchClientStatus(ctx, &statusv3.ClientStatusRequest{})
			if err != nil { // it is still reading
				select {
				case err := <-ended:
					t.Fatalf("%s: it has ended: %v", c.source, err)
				default:
					continue
				}
			}
			for _, of := range r.Config {
				got = append(got, of.Node.Id)
			}
			break
		}
		_ = cc.Close()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", c.source, err)
		}
		if strings.Join(got, " ") != strings.Join(c.clients, " ") || !strings.Contains(said.String(), c.said) || !strings.Contains(said.String(), "status of clients (CSDS) on "+socket+"\n") {
			t.Errorf("%s: it tells of %q, and says %s", c.source, got, said.String())
		}
	}
}
