package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// Nothing that is sent is longer than an answer may be, also where the protocol
// repeats what it complains of.
func TestComplaints(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for _, call := range []string{
		`"method":"` + long + `"`,
		`"method":"tools/call","params":{"name":"` + long + `"}`,
		`"method":"tools/call","params":"` + long + `"`,
	} {
		in, calls := io.Pipe()
		answers, out := io.Pipe()
		ended := make(chan error)
		go func() { ended <- (&Server{}).Serve(t.Context(), in, out) }()
		go fmt.Fprintf(calls, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"b",%s}
`, call)
		for lines := bufio.NewReader(answers); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			var m struct {
				ID    any
				Error struct{ Message string }
			}
			if err := json.Unmarshal(line, &m); err != nil || len(line) > MaxAnswer {
				t.Errorf("%.60s: %v, %d bytes", call, err, len(line))
			}
			if m.ID != "b" {
				continue
			}
			if !strings.HasSuffix(m.Error.Message, "…") {
				t.Errorf("%.60s: %.300s", call, line)
			}
			break
		}
		if err := calls.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
