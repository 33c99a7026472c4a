package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/mcp"
)

const mcpLong = `Answers an assistant in the Model Context Protocol, on standard input and
output: it can ask what the reading commands print, and nothing else.

%s
Each answers with what its command prints for machines. An answer has at most
16 KB; one that is longer ends with a cursor, with which the assistant goes on.

The tools read the SOURCE that is named here, and no other file, whatever an
assistant asks for. Without one it is looked for at each call: the running proxy
of this user, the newest if there are several, else @last. Each answer says
which it was. What comes through a pipe can be read only once, and is refused.

The assistant sees what the recording has. Secrets are masked, as they were when
it was recorded; those of a recording that was made with --keep-secrets are in
the clear. Names, addresses and configurations are seen as they are: what an
assistant sees may leave this machine. Texts in a recording are of peers, and
the assistant is told so: they are data, and no instructions.

An assistant starts it by itself. Most have a file where that is written down:

  {
    "mcpServers": {
      "xdsproxy": {
        "command": "xdsproxy",
        "args": ["mcp", "/home/me/session.xdsp"]
      }
    }
  }

It ends when standard input does.`

func newMCP(a *cli) *cobra.Command {
	var tools strings.Builder
	for _, t := range mcp.Tools() {
		fmt.Fprintf(&tools, "  %-9s %s (%s)\n", t.Name, t.Title, t.Command)
	}
	cmd := a.command(&cobra.Command{
		Use:   "mcp [SOURCE]",
		Short: "Let an assistant read a recording, with tools of MCP",
		Long:  fmt.Sprintf(mcpLong, &tools),
		Example: `# What an assistant starts to read the running proxy, or the newest recording
xdsproxy mcp

# One recording
xdsproxy mcp session.xdsp

# A proxy in a pod, through kubectl port-forward; it printed the token
XDSPROXY_VIEWER_TOKEN=... xdsproxy mcp 127.0.0.1:19000`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		name, err := oneSource(args)
		if err != nil {
			return err
		}
		if name == "-" || input.IsNamedPipe(name) {
			return misused("what comes through a pipe can be read only once, and each tool reads it").Hint("write it to a file first")
		}
		s := &served{a, name}
		if _, _, err := s.recording(cmd.Context(), io.Discard); err != nil {
			a.warn("%v; the tools say so until it can be read", err)
		}
		server := &mcp.Server{Version: build.Read().Version, Recording: s.recording, Prints: s.prints()}
		return server.Serve(cmd.Context(), io.NopCloser(a.stdin), noClose{a.stdout})
	})
	a.bootstrapFlag(cmd)
	a.useSettings(cmd, "memory-past")
	a.typeFlags(cmd)
	return cmd
}

// noClose is a stream that is not ours to close.
type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }

// served is what the tools of an assistant read, and how.
type served struct {
	*cli
	source string
}

// with is the cli of one call.
func (s *served) with(out, notes io.Writer) *cli {
	a := *s.cli
	a.stdin, a.stdout, a.stderr = strings.NewReader(""), out, notes
	return &a
}

// recording finds the source as it is now.
func (s *served) recording(_ context.Context, notes io.Writer) (name string, identity []byte, err error) {
	src, err := s.with(io.Discard, notes).opener().Open(s.source)
	if err != nil {
		return "", nil, err
	}
	defer src.Close()
	header := src.Header()
	if src.Script { // it was made a recording just now
		return src.Name, []byte(src.Name), nil
	}
	return src.Name, fmt.Appendf(nil, "%s %s", src.Name, header.Created.UTC()), nil
}
