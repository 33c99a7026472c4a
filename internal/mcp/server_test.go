package mcp

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

// An assistant sees the tools, their answers and their errors, and is served until
// its input ends.
func TestServe(t *testing.T) {
	p := serverOf(func(_ context.Context, recording string, a *Args, out, _ io.Writer) error {
		if a.Number("at") == 9 {
			return console.Failed("there is no entry 9").Hint("the last is 8")
		}
		return json.NewEncoder(out).Encode(map[string]string{"of": recording})
	})
	p.Version = "1.2.3"
	in, calls := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(t.Context(), in, out) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: answers, Writer: calls}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := client.InitializeResult(); r.ServerInfo.Version != "1.2.3" || r.Instructions != instructions || r.Capabilities.Tools == nil {
		t.Errorf("%+v", r)
	}
	tools, err := client.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != len(Tools()) {
		t.Fatalf("%+v, %v", tools, err)
	}
	for _, tool := range tools.Tools {
		n := tool.Annotations
		if !n.ReadOnlyHint || !n.IdempotentHint || *n.DestructiveHint || *n.OpenWorldHint || n.Title == "" {
			t.Errorf("%s: %+v", tool.Name, n)
		}
	}
	for range 2 { // one after the other
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "clients"})
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		want := `{"recording":"session.xdsp","notes":["of the running proxy"],"answer":{"of":"session.xdsp"}}`
		if got := r.Content[0].(*mcp.TextContent).Text; got != want || string(compact(t, r.StructuredContent)) != `{"answer":{"of":"session.xdsp"},"notes":["of the running proxy"],"recording":"session.xdsp"}` {
			t.Errorf("%s", got)
		}
	}
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "clients", Arguments: map[string]any{"at": 9}})
	if err != nil || !r.IsError || r.Content[0].(*mcp.TextContent).Text != "there is no entry 9\nhint: the last is 8" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What is no line of the protocol ends it, and one learns what was expected.
func TestServeOthers(t *testing.T) {
	in, calls := io.Pipe()
	go func() { _, _ = io.WriteString(calls, "GET / HTTP/1.1\r\n\r\n") }()
	err := serverOf(nil).Serve(t.Context(), in, nopCloser{io.Discard})
	if text := sentence(err); !strings.HasPrefix(text, "cannot go on with the client: ") || !strings.HasSuffix(text, "\nhint: standard input is for the program of an assistant, which sends one JSON object a line") {
		t.Errorf("%s", text)
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// A call waits until the one before it has been answered, or gives up when whoever
// asked is gone.
func TestOneAtATime(t *testing.T) {
	p := serverOf(printsJSON(1))
	p.busy = make(chan struct{}, 1)
	p.busy <- struct{}{} // one is being answered
	ctx, stop := context.WithCancel(t.Context())
	stop()
	handle := p.handler(t.Context(), toolOf(t, "clients"))
	if r, err := handle(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}); err == nil || p.printed != 0 {
		t.Errorf("%+v", r)
	}
	<-p.busy
	if r, err := handle(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}); err != nil || r.IsError || p.printed != 1 || len(p.busy) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
