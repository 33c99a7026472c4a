package report

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Names of the files in a zip.
const (
	recordingFile = "session.xdsp"
	markdownFile  = "report.md"
	pageFile      = "report.html"
	findingsFile  = "findings.json"
	reproduceFile = "REPRODUCE.md"
	readableFile  = "readable.txt"
	dumpFile      = "config_dump.json"
)

// course is what a recording shows that decides how it is played again.
type course struct {
	agent    string // of the first client
	rejected session.Seq
	kept     bool // without masks
}

func (w *course) see(e *session.Entry, c *check.Change) {
	if w.agent == "" && c.Node != nil {
		w.agent = strings.ToLower(c.Node.UserAgent)
	}
	if w.rejected == 0 && c.What == engine.NACK {
		w.rejected = e.Seq
	}
}

// client is a command that the client can be started with.
func (w *course) client() string {
	switch {
	case strings.Contains(w.agent, "grpc"):
		return "./your-grpc-client"
	case w.agent == "envoy" || w.agent == "" || strings.Contains(w.agent, "envoy"):
		return "envoy"
	}
	return "./your-client"
}

// reproduce is the text of REPRODUCE.md.
func reproduce(w *course, findings []check.Finding, program string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	play := fmt.Sprintf("xdsproxy replay %s -- %s", recordingFile, w.client())
	serverAtFault := false
	for i := range findings {
		serverAtFault = serverAtFault || findings[i].Fault == check.ServerFault
	}
	line("# How to see it again\n")
	line("With xdsproxy (this was made by %s), in this folder:\n", strings.ReplaceAll(program, "`", ""))
	line("```sh\n%s\n```\n", play)
	line("It starts the client with a bootstrap of its own, and says to it what the management server said. ")
	if w.rejected != 0 {
		line("The client rejects what it rejected then (entry %d), and the exit code is 0. Exit code 11 says that something is different now: the report names it.\n", w.rejected)
	} else {
		line("The exit code is 0 if it answers as it did then, and 11 if not.\n")
	}
	if w.rejected != 0 {
		line("Which resources are to blame:\n\n```sh\nxdsproxy bisect %s %d --help\n```\n", recordingFile, w.rejected)
	}
	if serverAtFault {
		line("And whether a management server does it again:\n\n```sh\nxdsproxy replay %s --as client --target HOST:PORT\n```\n", recordingFile)
	}
	line("What is in the recording:\n\n```sh\nxdsproxy check %s\nxdsproxy open %s\n```", recordingFile, recordingFile)
	if !w.kept {
		line("\nSecrets in it are masked. A replay puts fresh ones in their place.")
	}
	return b.String()
}
