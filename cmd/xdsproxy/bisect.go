package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/playback"
	"github.com/xdsproxy/xdsproxy/internal/settings"

	"github.com/spf13/cobra"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/session"
)

func newBisect(a *cli) *cobra.Command {
	b := &playback.Bisect{Timeout: playback.LongerThanEnvoy, Wait: time.Minute, Output: "table"}
	cmd := a.command(&cobra.Command{
		Use:   "bisect SOURCE [SEQ] --listen ADDR",
		Short: "Find the resources for which a client rejects a response",
		Long: `Finds the resources for which a client rejects a response: a NACK may name
only the first of them. A live client that connects to --listen is given parts
of the response, and its verdicts narrow the suspects down to the smallest sets
that it still rejects: each bad resource, and those that are bad only together.

SEQ is the number of the NACK or of the response that it rejects, as watch
prints it; without SEQ it is the last NACK. The client first gets what the
recorded one had accepted by then, of every type, and gets that again after each
trial. The suspects are what the response changes in that. Resources that the
client names, or that violate a constraint of their type, are tried first;
nothing is concluded without a trial. Each culprit takes about as many trials
as there are halvings from all suspects down to one.

The client is the recorded one by its node id, or any if the recording has but
one, or the one that --node names. It may go away and come back. Masked private
keys are replaced by fresh ones. Clusters whose endpoints were not recorded get
none, so that no client waits for them. TLS with the client is asked for by the
flags that run has for it. Answers to polls cannot be bisected.

The smallest conversation in which they are rejected is written to --script,
and with the contents as a recording beside it, which is small enough for a bug
report. xdsproxy replay --as server plays that to a fresh client, which rejects
them again. It has what a client has to be given before it asks for them;
secrets in it are masked.

The exit code is 0 if culprits were found, 11 if the client accepts the response
now, 1 if it does not answer or contradicts itself. On standard error the first
line says that it is ready.`,
		Example: `# Which of 500 clusters does this Envoy reject?
xdsproxy bisect bug.xdsp --listen 127.0.0.1:18000
# then point an Envoy at 127.0.0.1:18000

# The NACK at entry 412; keep the trials, too
xdsproxy bisect bug.xdsp 412 --listen 127.0.0.1:18000 -w trials.xdsp

# What it found, once more
xdsproxy replay bug-411.xdsp --as server --listen 127.0.0.1:18000

# The rejections of a recording
xdsproxy watch bug.xdsp --no-follow --filter kind:nack`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		if err := a.checkBisect(b, args); err != nil {
			return err
		}
		err := b.Run(cmd.Context())
		if err != nil && !console.Said(err) {
			err = app.Unbound(err)
		}
		return err
	})
	f := cmd.Flags()
	f.Var(settings.NewText(&b.Listen, "ADDR"), "listen", "where the client is to connect; port 0 picks one")
	f.Var(settings.NewText(&b.Node, "ID"), "node", "node id of the live client to try, if not the recorded one")
	f.Var((*settings.Duration)(&b.Timeout), "timeout", "how long the client may take for an answer")
	f.Var((*settings.Duration)(&b.Wait), "wait", "how long the client may take to connect, also after it went away")
	f.Var(settings.NewText(&b.Script, "FILE"), "script", "write the smallest conversation to this file, and with contents to one that ends with .xdsp, which must not exist yet (default: SOURCE-SEQ.xds in the working directory)")
	f.VarPF(settings.NewText(&b.Write, "FILE"), "write", "w", "record the trials to this file, which must not exist yet")
	outputFlag(cmd, &b.Output, "table", "json")
	a.useGroups(cmd, settings.GroupClientTLS, settings.GroupTLS)
	return cmd
}

func (a *cli) checkBisect(b *playback.Bisect, args []string) error {
	switch {
	case len(args) == 0:
		return misused("bisect needs a SOURCE").Hint("xdsproxy bisect %s --listen 127.0.0.1:18000", input.Last)
	case len(args) > 2:
		return misused("one SEQ at a time, but got %d", len(args)-1)
	case args[0] == "-":
		return misused("bisect reads its SOURCE twice, so it cannot be a pipe").Hint("write the recording to a file first")
	case b.Listen == "":
		return misused("no --listen: where is the client to connect?").Hint("--listen 127.0.0.1:18000, or port 0 for a free one")
	case strings.HasSuffix(b.Script, ".xdsp"):
		return misused("--script %s: a script is text, and this is the name of a recording", shellWord(b.Script)).
			Hint("--script %s writes the script, and the recording beside it", shellWord(strings.TrimSuffix(b.Script, ".xdsp")+input.ScriptSuffix))
	case b.Timeout == 0 || b.Wait == 0:
		return misused("--timeout and --wait cannot be 0s: no client answers at once")
	}
	b.Source = args[0]
	if len(args) == 2 {
		n, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil || n == 0 {
			return misused("SEQ %q: not the number of an entry", args[1]).Hint("xdsproxy watch %s --no-follow --filter kind:nack lists the rejections", shellWord(b.Source))
		}
		b.Seq = session.Seq(n)
	}
	at, err := proxy.ParseAddr(b.Listen)
	if err != nil {
		return misused("--listen: %w", err)
	}
	security, err := a.config.OneSide(true, at)
	b.Opener, b.Live, b.KeepSecrets = a.opener(), a.live(security), bool(a.config.KeepSecrets)
	return err
}
