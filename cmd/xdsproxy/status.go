package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

func newStatus(a *cli) *cobra.Command {
	output, at := "table", seqFlag(0)
	cmd := a.command(&cobra.Command{
		Use:   "status [SOURCE] [--at SEQ] [-o table|json]",
		Short: "Print where each client stands with each type",
		Long: `Prints a line for each client, the worst first, and how it stands with each
type, since when:

  SYNCED   it accepted what was sent last
  PENDING  it has not answered yet, and is in time
  STALE    it has not answered in time: 10 seconds, 20 if it has said nothing
           since, and 30 for clusters, which may have to warm up
  NACKED   it rejected what was sent last, be it of some resources; its reason
           stands below
  NOTSENT  it asked, and nothing came
  -        it did not ask

Where clients are asked what they hold (run --envoy-admin, --csds), EFFECT says
whether what they were sent is in use: "yes", "no" with a type of which not all
is, or "-" where that cannot be told. What is accepted and not in effect stands
below, with what it waits for.

A client that asked for nothing and says what it holds, as in an imported
config_dump, has a line with how many resources that is.

Of a directory, or a URL that ends in /, it prints the clients of all proxies,
each with its proxy, as the newest recording has them.

Ages are counted from the end of the recording, or from entry --at. LAST is
counted from the end of the newest recording of all. How far one change of the
control plane came, at all clients, is told by xdsproxy pushes.`,
		Example: `xdsproxy status
xdsproxy status session.xdsp --at 4107`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		name, err := oneSource(args)
		if err != nil {
			return err
		}
		if input.IsMany(name) {
			if at != 0 {
				return misused("--at counts the entries of one recording").Hint("xdsproxy info %s lists them", shellWord(name))
			}
			return a.statusOfMany(cmd.Context(), name, output)
		}
		status, stand, damage := a.status(cmd.Context(), name, session.Seq(at))
		if status == nil {
			return damage
		}
		if output != "json" && len(status.Clients)+len(status.Holding) == 0 {
			a.say("no client has asked for anything in %q up to entry %d", stand.name, stand.seq)
			return damage
		}
		c := a.console()
		return cmp.Or(c.Show(output, status, func() string { return status.Text(c.Style(), c.Columns()) }), damage)
	})
	cmd.Flags().Var(&at, "at", "as it was after this entry")
	a.useSettings(cmd, "memory-past")
	a.typeFlags(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

func newTree(a *cli) *cobra.Command {
	output, at := "table", seqFlag(0)
	cmd := a.command(&cobra.Command{
		Use:   "tree SOURCE [CLIENT] [--at SEQ] [-o table|json]",
		Short: "Print the resources of a client by reference",
		Long: `Prints what a client has been sent, from listeners down to endpoints, as the
resources refer to each other, with state and version, and whether they are in
effect where the client is asked what it holds ("yes 12ms": so long after it was
accepted, at most). At the end stand those to
which nothing refers, and those that are referred to or asked for and were not
sent.

Of a client that asked for nothing and says what it holds, as in an imported
config_dump, it prints that, with the states of the dump.

CLIENT is a node id, or a part of one that fits only one client; it may be left
out if there is only one.`,
		Example: `xdsproxy tree @last gw-0
xdsproxy tree session.xdsp gw-0 --at 4107`,
		ValidArgsFunction: a.completeTree,
	}, func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) > 2 {
			return misused("tree takes a SOURCE and a CLIENT, but got %d arguments", len(args)).Hint("xdsproxy status %s lists the clients", input.Last)
		}
		asked := ""
		if len(args) > 1 {
			asked = args[1]
		}
		tree, damage := a.tree(cmd.Context(), args[0], asked, session.Seq(at))
		if tree == nil {
			return damage
		}
		c := a.console()
		return cmp.Or(c.Show(output, tree, func() string { return tree.Text(c.Style(), c.Columns()) }), damage)
	})
	cmd.Flags().Var(&at, "at", "as it was after this entry")
	a.bootstrapFlag(cmd)
	a.useSettings(cmd, "memory-past")
	a.typeFlags(cmd)
	outputFlag(cmd, &output, "table", "json")
	return cmd
}

// status is where all clients stand after an entry. Damage is an error beside it.
func (a *cli) status(ctx context.Context, name string, at session.Seq) (*render.Standing, standing, error) {
	checker, stand, damage := a.replayTo(ctx, name, at)
	if checker == nil {
		return nil, stand, damage
	}
	status := render.NewStanding(checker.Status(), uint64(stand.seq), stand.time)
	status.AddEffects(checker.Effects())
	status.AddHolders(&stand.holders, checker.Status())
	return status, stand, damage
}

// tree is what the client has after an entry that was asked for. Damage is an error
// beside it.
func (a *cli) tree(ctx context.Context, name, asked string, at session.Seq) (*render.Tree, error) {
	checker, stand, damage := a.replayTo(ctx, name, at)
	if checker == nil {
		return nil, damage
	}
	all := checker.Status()
	alone := stand.holders.Alone(all)
	id, choice := input.OneClient(append(all, alone...), asked)
	if choice != nil {
		return nil, choice
	}
	if slices.ContainsFunc(alone, func(c engine.ClientStatus) bool { return c.Client == id }) {
		return stand.holders.Tree(id, stand.seq), damage
	}
	tree := render.NewTree(checker.Tree(id), uint64(stand.seq))
	tree.AddEffects(checker.Effects())
	return tree, damage
}

// standing is how far a recording was read.
type standing struct {
	name string
	seq  session.Seq
	time time.Time
	// holders are the clients that say what they hold.
	holders render.Holders
}

// replayTo reads a recording up to an entry, or to its end if seq is 0. Damage
// is an error beside a checker that has seen what is before it.
func (a *cli) replayTo(ctx context.Context, name string, seq session.Seq) (*check.Checker, standing, error) {
	src, err := a.opener().Open(name)
	if err != nil {
		return nil, standing{}, err
	}
	defer src.Close()
	heap.Lean()
	checker := check.NewChecker(a.config.Judging())
	stand := standing{name: src.Name}
	err = a.judgeEach(ctx, src, checker, func(e *session.Entry, c *check.Change) error {
		stand.holders.See(e, c)
		stand.seq, stand.time = e.Seq, checker.Now
		if seq != 0 && e.Seq >= seq {
			return input.ErrEnough
		}
		return nil
	})
	if err != nil && !input.Damaged(err) {
		return nil, stand, err
	}
	if seq > stand.seq && err == nil {
		return nil, stand, failed("there is no entry %d in %q: it ends with %d", seq, src.Name, stand.seq).Hint("without a number it is as it was at the end")
	}
	return checker, stand, err
}

// seqFlag is a sequence number.
type seqFlag session.Seq

func (v *seqFlag) Type() string { return "SEQ" }
func (v *seqFlag) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*v), 10)
}

func (v *seqFlag) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || n == 0 {
		return errors.New("not a sequence number")
	}
	*v = seqFlag(n)
	return nil
}
