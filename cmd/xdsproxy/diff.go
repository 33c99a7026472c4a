package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/compare"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

const diffLong = `Prints the versions of a resource that a client was sent, what the client said
of each, and what differs between two of them: between the one accepted last and
the one that was rejected, if the last was rejected, else between the last two.
--from and --to choose others; --all goes through every step. Where resources of
several types have the NAME, it takes the type of which the last was rejected,
and says so; --type chooses.

With two SEQ it compares two messages, apart from their versions and nonces.
With two recordings A and B it compares what each client, by node id, accepted
last in one and in the other; NAME says of which resource to show the content.
With a STATE it compares what CLIENT accepted last with what it holds. That is
a file that Envoy's /config_dump gave (?include_eds for endpoints, too), an
answer of CSDS in JSON, or what xdsproxy import made of either. With istiod's
/debug/config_dump it compares it with what istiod would send now.

The comparison knows what xDS means: the order of endpoints, domains or matchers
makes no difference, that of routes and filters does, and elements are found
again by their names. Secrets are compared by their masks. Two recordings mask
differently: there, secrets are not compared, and a line says how many.

Which of the forms is meant: two numbers are SEQs, a file that exists (or a name
that ends in .xdsp or .xds) is a recording, everything else is a NAME. --name
says that it is a NAME whatever it looks like.`

func newDiff(a *cli) *cobra.Command {
	f, name, exitCode := &compare.Comparison{Output: "text"}, "", false
	cmd := a.command(&cobra.Command{
		Use:   "diff SOURCE NAME | SOURCE SEQ SEQ | A B [NAME] | A STATE [CLIENT]",
		Short: "Print what changed in a resource, between messages or sessions",
		Long:  diffLong,
		Example: `# What was rejected, against what was accepted last
xdsproxy diff @last 0.0.0.0_443

# Every change of the endpoints of a cluster, for one client
xdsproxy diff session.xdsp 'outbound|80||web' --type eds --client gw-0 --all

# Two messages, by their numbers in watch
xdsproxy diff @last 4090 4104

# What differs between yesterday's session and today's
xdsproxy diff good.xdsp bad.xdsp --all

# Does this Envoy hold what it accepted?
curl -s 'localhost:9901/config_dump?include_eds' >dump.json
xdsproxy diff session.xdsp dump.json gw-0`,
		ValidArgsFunction: a.completeDiff,
	}, func(cmd *cobra.Command, args []string) error {
		if name != "" {
			args = append(args, name)
		}
		f.Opener = a.opener()
		err := diffForms(cmd.Context(), f, args, name != "")
		if err == nil && exitCode && f.Differs {
			return console.ErrDifferences
		}
		return err
	})
	flags := cmd.Flags()
	flags.Var(settings.NewText(&f.Type, "TYPE"), "type", "of the resource, such as CDS")
	flags.Var(settings.NewText(&f.Client, "CLIENT"), "client", "a node id, or a part of one that fits only one client")
	flags.Var(settings.NewText(&name, "NAME"), "name", "the resource, whatever its name looks like")
	flags.Var(settings.NewText(&f.From, "SEQ|vN"), "from", "the version in force after an entry, or the Nth of the table")
	flags.Var(settings.NewText(&f.To, "SEQ|vN"), "to", "the same of the newer one")
	flags.BoolVar(&f.All, "all", false, "each step; of two sessions, each resource that differs")
	flags.IntVar(&f.Context, "context", 3, "equal lines around a change; -1 for all")
	flags.BoolVar(&exitCode, "exit-code", false, "exit with 11 if there are differences")
	outputFlag(cmd, &f.Output, "text", "json")
	a.typeFlags(cmd)
	// The error is impossible: the flag exists.
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(xds.ShortTypes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("client", a.completeClient)
	return cmd
}

// diffForms chooses the form. named says that the last argument is a NAME whatever it
// looks like.
func diffForms(ctx context.Context, f *compare.Comparison, args []string, named bool) error {
	f.Type = typeWord(f.Type)
	numbers := len(args) == 3 && isNumber(args[1]) && isNumber(args[2]) && !named
	sessions := len(args) > 1 && isSession(args[1]) && (!named || len(args) > 2)
	switch {
	case len(args) == 0:
		return misused("diff needs a SOURCE and what to compare in it").Hint("xdsproxy diff %s NAME", input.Last)
	case len(args) == 1:
		return misused("diff needs the NAME of a resource, two SEQs, or another recording").
			Hint("xdsproxy tree %s lists the resources of a client", shellWord(args[0]))
	case f.From+f.To != "" && (numbers || sessions || !named && compare.IsState(args[1])):
		return misused("--from and --to choose between the versions of a resource")
	case numbers && (f.Type+f.Client != "" || f.All):
		return misused("--type, --client and --all choose of a resource, and two SEQs name messages").
			Hint("xdsproxy diff %s NAME compares what clients were sent of a resource", shellWord(args[0]))
	case (len(args) == 2 || len(args) == 3) && !named && compare.IsState(args[1]):
		if err := clientOf(f, args); err != nil {
			return err
		}
		return f.ConfigDump(ctx, args[0], args[1])
	case len(args) > 3, len(args) == 3 && !numbers && !sessions:
		return misused("diff takes a SOURCE and a NAME, a SOURCE and two SEQs, or two recordings, but got %q", strings.Join(args, " "))
	case numbers:
		return f.Messages(ctx, args)
	case sessions:
		if all := f.States(ctx, args[1]); len(all) > 0 {
			if err := clientOf(f, args); err != nil {
				return err
			}
			return f.Held(ctx, args[0], all, args[1])
		}
		name := ""
		if len(args) == 3 {
			name = args[2]
		}
		return f.Sessions(ctx, args[0], args[1], name)
	}
	return f.Versions(ctx, args[0], args[1])
}

// clientOf takes a third argument for the client.
func clientOf(f *compare.Comparison, args []string) error {
	if len(args) < 3 {
		return nil
	}
	if f.Client != "" {
		return misused("the client is said twice: %q and --client %s", args[2], f.Client)
	}
	f.Client = args[2]
	return nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 63)
	return err == nil
}

// isSession says whether an argument is a recording rather than a name.
func isSession(arg string) bool {
	if input.IsURL(arg) || strings.HasSuffix(arg, "/") && input.IsMany(arg) || arg == "-" || arg == input.Last || input.IsScript(arg) || input.IsFile(arg) || strings.HasSuffix(arg, ".xdsp") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode()&fs.ModeDir == 0
}

// completeDiff completes a recording, and then what to compare in it: the name of
// a resource, or another recording.
func (a *cli) completeDiff(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return completeSource(cmd, args, prefix)
	}
	names := a.resourceNames(args[0], prefix)
	if len(names) == 0 {
		return completeSource(cmd, nil, prefix)
	}
	for _, ending := range sourceEndings {
		files, _ := filepath.Glob(globbed(prefix) + "*." + ending) // the error is a bad pattern: no file is meant
		names = append(names, safeNames(files)...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// globbed is a pattern that takes a text as it is.
func globbed(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// typeWord is the short type that someone wrote, in whatever way.
func typeWord(s string) string {
	if up := strings.ToUpper(s); slices.Contains(xds.ShortTypes(), up) {
		return up
	}
	return xds.ShortType(s)
}
