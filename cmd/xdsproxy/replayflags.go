package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/replay/fault"
	"github.com/xdsproxy/xdsproxy/replay/launch"
)

// take takes the command behind --, and what a command implies. It returns the
// SOURCEs.
func (r *replaying) take(cmd *cobra.Command, args []string) ([]string, error) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		if at == len(args) {
			return nil, misused("no command behind --").Hint("xdsproxy replay %s -- envoy", input.Last)
		}
		r.Commands, args = append(r.Commands, args[at:]), args[:at]
	}
	if len(r.Commands) == 0 {
		return args, nil
	}
	if r.As == "" {
		r.As = "server"
	}
	if r.As == "server" && r.Listen == "" {
		r.Listen = "127.0.0.1:0"
	}
	var sources []string
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !info.IsDir() {
			sources = append(sources, arg)
			continue
		}
		within, _ := filepath.Glob(filepath.Join(escapedGlob(arg), "*.xdsp")) // the pattern is valid
		if len(within) == 0 {
			return nil, failed("there is no recording in %s: no name there ends in .xdsp", arg)
		}
		sources = append(sources, within...)
	}
	return sources, nil
}

// escapedGlob is a pattern for a path itself.
func escapedGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func (r *replaying) checkCommands(sources []string) error {
	if len(r.Commands) == 0 {
		return nil
	}
	if r.As == "server" && r.Security.ListenTLS != nil {
		return misused("TLS towards a client that is a command: its bootstrap is made for plaintext, on this machine").
			Hint("start the client yourself, with a bootstrap of its own: replay SOURCE --as server --listen ADDR --tls-cert FILE ...")
	}
	if plays := len(sources) * len(r.Commands); plays > 1 {
		for _, f := range []struct {
			name  string
			given bool
		}{{"write", r.Write != ""}, {"compare-config-dump", r.CompareDump != ""}, {"fault", len(r.Faults) > 0}} {
			if f.given {
				return misused("--%s is for one recording and one command, not for %d plays", f.name, plays)
			}
		}
	}
	if len(r.Commands) > 1 && slices.Contains(sources, "-") {
		return misused("standard input can be read for one command only, not for %d", len(r.Commands))
	}
	for _, argv := range r.Commands {
		if err := console.Runnable(argv[0]); err != nil {
			return err
		}
	}
	return nil
}

// checkFollow says what is wrong with how --follow was called.
func (r *replaying) checkFollow() error {
	if !r.Follow {
		if r.Noise != "" {
			return misused("--noise is for --follow: a recording that is played to its end has no second instance to ask")
		}
		return nil
	}
	switch {
	case r.Noise != "" && r.As == "server":
		return misused("--noise is for --as client: with --as server no control plane is asked")
	case r.pace != "cause":
		return misused("--pace is not for --follow: what is recorded now is played now")
	case len(r.Faults) > 0:
		return misused("--fault is not for --follow: what is recorded later cannot be counted now")
	case r.CompareDump != "":
		return misused("--compare-config-dump is not for --follow: it asks at the end of a recording")
	case len(r.Commands) > 1, len(r.Commands) > 0 && r.As == "client":
		return misused("--follow runs one command, which is a client").Hint("xdsproxy replay %s --as server --follow -- envoy", input.Last)
	case r.Write != "":
		return misused("--write is not for --follow").Hint("a second xdsproxy run in front of the other side records what it says")
	}
	if r.Noise != "" {
		if _, err := proxy.ParseAddr(r.Noise); err != nil {
			return misused("--noise: %w", err)
		}
	}
	return nil
}

// commandsValue is a list of commands, each a text.
type commandsValue struct{ p *[][]string }

func (v commandsValue) Type() string   { return "COMMAND" }
func (v commandsValue) String() string { return "" }
func (v commandsValue) Set(s string) error {
	words, err := launch.Words(s)
	*v.p = append(*v.p, words)
	return err
}

// textsValue are texts, one each time that the flag is given.
type textsValue struct {
	p    *[]string
	kind string
}

func (v textsValue) String() string     { return strings.Join(*v.p, " ") }
func (v textsValue) Type() string       { return v.kind }
func (v textsValue) Set(s string) error { *v.p = append(*v.p, s); return nil }

// completeFault proposes a kind, or what may come next in the filter behind it.
func (r *replaying) completeFault(text string) []string {
	kind, rest, filtered := strings.Cut(text, ":")
	if !filtered {
		names := fault.Names(r.As == "server")
		if r.As == "" {
			names = append(names, fault.Names(true)...)
		}
		return complete("", kind, names, func(n string) string { return n + ":" })
	}
	out := completeFilter(rest)
	for i := range out {
		out[i] = kind + ":" + out[i]
	}
	return out
}
