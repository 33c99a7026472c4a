package report

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Names of the files in a zip.
const (
	recordingFile = "session.xdsp"
	markdownFile  = "report.md"
	findingsFile  = "findings.json"
	readableFile  = "readable.txt"
	dumpFile      = "config_dump.json"
)

// course is what a recording shows that decides how it is played again.
type course struct {
	agent     string      // of the first client, as it says itself
	responses int         // on streams of discovery
	asked     bool        // there is one of these
	rejection session.Seq // the first one
}

func (w *course) see(e *session.Entry, c *check.Change) {
	if n := c.Node; w.agent == "" && n != nil && n.UserAgent != "" {
		w.agent = strings.TrimSpace(n.UserAgent + " " + n.UserAgentVersion)
	}
	switch c.Variant {
	case xds.VariantSotwADS, xds.VariantDeltaADS, xds.VariantSotw, xds.VariantDelta:
		w.asked = true
		if e.Message != nil && e.Side == session.Server {
			w.responses++
		}
	}
	if w.rejection == 0 && c.What == engine.NACK {
		w.rejection = e.Seq
	}
}

// client is a command that the client can be started with, and what it is in a
// sentence.
func (w *course) client() (command, is string) {
	switch agent := strings.ToLower(w.agent); {
	case strings.Contains(agent, "grpc"):
		return "./your-grpc-client", "your gRPC client, in the place of ./your-grpc-client"
	case strings.Contains(agent, "envoy"):
		return "envoy", "Envoy, in the PATH"
	}
	return "./your-client", "your client, in the place of ./your-client"
}

// reproduce is the text of REPRODUCE.md.
func reproduce(w *course, findings []check.Finding, program string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	block := func(commands ...string) { line("\n```sh\n%s\n```\n", strings.Join(commands, "\n")) }
	command, is := w.client()
	playable, server := w.responses > 0, w.asked && w.responses == 0
	for i := range findings {
		server = server || w.asked && findings[i].Fault == check.ServerFault
	}
	line("# How to see it again\n")
	line("You need xdsproxy (github.com/xdsproxy/xdsproxy). Run the commands in the folder of this file.\n")
	switch {
	case playable:
		line("With %s:", is)
		block(fmt.Sprintf("xdsproxy replay %s -- %s", recordingFile, command))
		line("It starts the client with a bootstrap that it makes, and sends it what the management server sent then. No management server is needed.")
		if w.rejection != 0 {
			line("If the client rejects again what it rejected then (entry %d), and all else is as recorded, the exit code is 0.", w.rejection)
		} else {
			line("The exit code is 0 if the client answers as it did then.")
		}
		line("Exit code 11 says that it does not: what differs is printed.\n")
		line("To read what the client says this time, record it:")
		block(fmt.Sprintf("xdsproxy replay %s -w again.xdsp -- %s", recordingFile, command), "xdsproxy check again.xdsp")
	case !w.asked:
		line("It cannot be played again: that is possible with streams of discovery, and there is none in the recording.\n")
	}
	if w.rejection != 0 && playable {
		line("To find the resources that it rejects among many, start this, and then the client, with 127.0.0.1:18000 as its management server:")
		block(fmt.Sprintf("xdsproxy bisect %s %d --listen 127.0.0.1:18000", recordingFile, w.rejection))
	}
	if server {
		line("To see whether a management server does it again, name its address:")
		block(fmt.Sprintf("xdsproxy replay %s --as client --target HOST:PORT", recordingFile))
	}
	line("To look at the recording:")
	block("xdsproxy check "+recordingFile, "xdsproxy open "+recordingFile)
	if w.agent != "" {
		line("The client said that it was %s.", code(w.agent))
	}
	line("This was written by %s.", code(program))
	line("Secrets in the recording are masked. A replay sends keys that it makes; other secrets it sends masked, and says so.")
	return b.String()
}

// code is a text between backticks, without any of its own.
func code(s string) string {
	return "`" + strings.ReplaceAll(render.Safe(render.Middle(s, 200)), "`", "'") + "`"
}
