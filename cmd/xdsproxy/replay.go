package main

import (
	"errors"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/playback"
	"github.com/xdsproxy/xdsproxy/internal/settings"

	"github.com/spf13/cobra"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/replay"
)

// replaying is a replay as it is asked for.
type replaying struct {
	*cli
	*playback.Replay
	pace string
}

func newReplay(a *cli) *cobra.Command {
	r := &replaying{cli: a, Replay: &playback.Replay{Idle: 10 * time.Second, Output: "table"}, pace: "cause"}
	cmd := a.command(&cobra.Command{
		Use:   "replay SOURCE [--as SIDE] [--listen|--target ADDR] [-- COMMAND]",
		Short: "Play one side of a recording again, against the other",
		Long: `Plays one side of a recording against a live other side, and says what was not
as it was then. So a recording reproduces a bug: with a real Envoy and without
the control plane, or with the control plane and without the fleet.

A command behind -- is the live side, and runs for as long as the play lasts. A
client finds a bootstrap made from the recording: its path is in the place of {}
in the command, for Envoy behind -c, for gRPC in GRPC_XDS_BOOTSTRAP.

--as server plays the control plane. A client that connects is taken for the
recorded one with its node id, or for the only one there is, or for the one that
--client names. Responses go out in the recorded order, each when what caused
it has happened again: the subscription or the answer that came before it. The
client's answers are compared: an ACK where there was a NACK, other names, other
types. What the recording never answered stays unanswered.

--as client plays the clients. Requests go out with the nonces and versions that
the live server gave. The contents of its responses are compared, whatever their
nonces, versions and order, and however they are cut into responses; and what
check finds the server to do wrong and did not find in the recording.

Polls of REST are played likewise, those that bring nothing new once. That a
client took a content shows in the version that its next poll announces.

--fault KIND[=VALUE][:FILTER][#COUNT] does something wrong on purpose, to what
the filter wants of the recording: the first, or #2, #2..4, #* for all of it.
docs/replaying.md lists the kinds.

Masked private keys are replaced by fresh ones with the recorded names. What
cannot be played is said, and the rest is played: load reports, what a gap
swallowed. TLS is asked for by the flags that run has for it: towards
clients with --as server, towards the control plane with --as client. What was
recorded through TLS is replayed like the rest, with TLS or without. Listeners
whose addresses cannot be had are moved where the client is on this machine.
--compare-config-dump says what Envoy then holds that it did not accept.

--follow plays a recording while it grows. The next client gets every push, as
it comes. Another control plane is asked what live clients ask, and its answers
are compared with those that the clients get. --noise ADDR names a second
instance of the present version: what differs between it and the live server is
noise.

Ends when everything was played, or after --idle without a message; the first
client may take six times as long to come. The exit code is 0 if all was as
recorded, 11 if something differs, 1 if nothing was played, 126 or 127 if the
command cannot be run. On standard error the first line says that it is ready.`,
		Example: `# All in one: run an Envoy, and see it reject what the customer's rejected
xdsproxy replay bug.xdsp -- envoy

# Which of two Envoys rejects what of what we send today?
xdsproxy replay recordings/ --command envoy-1.36 --command envoy-1.40

# Give an Envoy what the customer's got, and see it reject it again
xdsproxy replay bug.xdsp --as server --listen 127.0.0.1:18000

# Does the new control plane say what the old one said?
xdsproxy replay old.xdsp --as client --target 127.0.0.1:15010

# With TLS, as the clients want it
xdsproxy replay bug.xdsp --as server --listen :15012 \
                --tls-cert cert.pem --tls-key key.pem --tls-client-ca ca.pem

# What if the second response of endpoints never came?
xdsproxy replay bug.xdsp --as server --listen :18000 --fault drop:type:eds#2

# What would the next control plane say to the clients of a running proxy?
xdsproxy replay @last --as client --follow --target 127.0.0.1:15011

# One thing at a time, at every Enter; and record what happens
xdsproxy replay bug.xdsp --as server --pace step -w again.xdsp`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		r.IdleGiven = cmd.Flags().Changed("idle")
		args, err := r.take(cmd, args)
		if err == nil {
			err = r.check(args)
		}
		if err != nil {
			return err
		}
		ctx, back := app.UntilHangup(cmd.Context())
		defer back()
		if err = r.Run(ctx, args); err != nil && !console.Said(err) {
			err = app.Unbound(err)
		}
		if ctx.Err() != nil && cmd.Context().Err() == nil {
			return &failure{Err: errors.New("the terminal is gone"), Code: app.ExitHangup, Silent: true}
		}
		return err
	})
	f := cmd.Flags()
	f.Var(settings.NewChoice(&r.As, "server", "client"), "as", "the side that is played")
	f.Var(settings.NewText(&r.Listen, "ADDR"), "listen", "where the played server listens; port 0 picks one")
	f.Var(settings.NewText(&r.Target, "ADDR"), "target", "the control plane that the played clients ask")
	f.Var(settings.NewText(&r.Client, "ID"), "client", "play or answer this recorded client only, whatever the live one is called")
	f.Var(settings.NewText(&r.pace, "cause|recorded|xN|step"), "pace", "when to go on: cause waits for what caused a message; recorded for its time, too, xN N times faster; step for Enter")
	f.Var(commandsValue{&r.Commands}, "command", "run this as the live side, as if it stood behind --; several, or several SOURCEs, give a table")
	f.Var((*settings.Duration)(&r.Idle), "idle", "end after so long without a message")
	f.VarPF(settings.NewText(&r.CompareDump, "ADDR"), "compare-config-dump", "", "compare what the client accepted with what the Envoy with this admin endpoint holds").NoOptDefVal = playback.OwnAdmin
	f.Var(textsValue{&r.Faults, "KIND:WHEN"}, "fault", "do something wrong on purpose, such as 'drop:type:eds#2'; repeat it for several")
	f.VarPF(settings.NewText(&r.Write, "FILE"), "write", "w", "record the replay to this file, which must not exist yet")
	f.BoolVar(&r.Follow, "follow", false, "play a recording that is still being written, while it grows")
	f.Var(settings.NewText(&r.Noise, "ADDR"), "noise", "with --follow: what differs at this second instance of the present version is noise")
	outputFlag(cmd, &r.Output, "table", "json")
	a.useGroups(cmd, settings.GroupClientTLS, settings.GroupUpstreamTLS, settings.GroupTLS, settings.GroupHeaders)
	a.typeFlags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("client", a.completeClient)
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{"server", "client"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("fault", func(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		return r.completeFault(text), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	_ = cmd.RegisterFlagCompletionFunc("pace", cobra.FixedCompletions([]string{"cause", "recorded", "x4", "step"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check says what is wrong with how it was called.
func (r *replaying) check(args []string) error {
	pace, err := replay.ParsePace(r.pace)
	switch {
	case len(args) == 0:
		return misused("replay needs a SOURCE").Hint("xdsproxy replay %s --as server --listen 127.0.0.1:18000", input.Last)
	case len(args) > 1 && len(r.Commands) == 0 && r.CompareDump == playback.OwnAdmin:
		return misused("the address belongs behind an equals sign: --compare-config-dump=%s", args[1])
	case len(args) > 1 && len(r.Commands) == 0:
		return misused("one SOURCE at a time, but got %d", len(args)).Hint("a command stands behind --: xdsproxy replay %s -- COMMAND", shellWord(args[0]))
	case r.As == "":
		return misused("replay needs --as server or --as client: which side is to be played?")
	case r.As == "server" && r.Target != "":
		return misused("--target is for --as client; --as server needs --listen ADDR")
	case r.As == "client" && r.Listen != "":
		return misused("--listen is for --as server; --as client needs --target ADDR")
	case r.As == "client" && r.Target == "":
		return misused("no --target: where does the control plane listen?")
	case r.As == "server" && r.Listen == "":
		return misused("no --listen: where is the client to connect?").Hint("--listen 127.0.0.1:18000, or port 0 for a free one")
	case err != nil:
		return misused("--pace: %w", settings.Naming(r.pace, err))
	case pace.Steps() && args[0] == "-":
		return misused("--pace step reads standard input, and so does the SOURCE -")
	case r.Idle == 0:
		return misused("--idle 0s would end before the first message")
	}
	if err := r.checkFollow(); err != nil {
		return err
	}
	live, err := proxy.ParseAddr(r.Listen + r.Target)
	if err != nil {
		return misused("--%s: %w", map[string]string{"server": "listen", "client": "target"}[r.As], err)
	}
	security, err := r.config.OneSide(r.As == "server", live)
	if err != nil {
		return err
	}
	r.Opener, r.Judge, r.Live = r.opener(), r.config.Judging(), r.live(security)
	if err := r.checkCommands(args); err != nil {
		return err
	}
	r.Options = replay.Options{Pace: pace, Idle: r.Idle, Client: r.Client, Authority: live.Authority(), Types: r.config.Types}
	r.Options.Local = r.As == "server" && (live.Network == "unix" || app.Loopback(live.Address))
	return nil
}
