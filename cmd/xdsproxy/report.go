package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/export"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

func newReport(a *cli) *cobra.Command {
	r := &export.Report{Export: &export.Export{}}
	cmd := a.command(&cobra.Command{
		Use:   "report SOURCE [SEQ|RULE...] [-w FILE.zip] [--yes]",
		Short: "Make a zip to attach to an issue",
		Long: `Writes a zip that proves what was found: the part of the recording from which
check finds it again, a report for the text of the issue, one to look at in a
browser, the findings as JSON, how to see it happen again, and a list of the
names that can be read in it.

Without more it takes the five gravest findings of the rules. RULE takes those
of a rule, SEQ those that are about an entry; the entry is in the part even if
no rule has found anything.

Secrets are masked, those of a recording with --keep-secrets, too. Before
anything is written, what was masked is counted, and every name, host and
address that remains readable is listed. On a terminal you are asked; elsewhere
--yes is needed. A file that exists is never overwritten.`,
		Example: `# What is wrong, ready to attach
xdsproxy report @last

# One rule, one entry
xdsproxy report gw.xdsp nack-received -w nack.zip
xdsproxy report gw.xdsp 4107 -w 4107.zip --yes

# For somebody who must not learn the names in it
xdsproxy report gw.xdsp --pseudonyms -w bug.zip

# Of a running proxy
xdsproxy report 127.0.0.1:18001 -w now.zip`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		r.Opener, r.Judge = a.opener(), a.config.Judging()
		r.Embed = bool(a.config.EmbedDescriptors)
		ctx, back := app.UntilHangup(cmd.Context())
		defer back()
		return r.Run(ctx, args)
	})
	cmd.Flags().VarP(settings.NewText(&r.Path, "FILE"), "write", "w", "write to this file, which must not exist yet; without it, the name of the SOURCE with -report.zip")
	cmd.Flags().Var(settings.NewText(&r.Dump, "FILE|URL"), "config-dump", "put what an Envoy holds into it: a saved /config_dump, or the address of it")
	cmd.Flags().BoolVar(&r.Pseudonymous, "pseudonyms", false, "put stand-ins in the place of all names, as export --pseudonyms does")
	cmd.Flags().Var(settings.NewText(&r.KeyFile, "FILE"), "key-file", "the key of --pseudonyms, by which names come back; without it, FILE.zip.key")
	cmd.Flags().BoolVarP(&r.Yes, "yes", "y", false, "write without asking")
	a.useGroups(cmd, settings.GroupTypes)
	return cmd
}

// reportTo writes a report of the gravest findings, which nobody is asked about.
func (a *cli) reportTo(ctx context.Context, source, path string, judge check.Options) error {
	r := &export.Report{Export: &export.Export{Opener: a.opener(), Judge: judge, Path: path}, Yes: true}
	ctx, back := app.UntilHangup(ctx)
	defer back()
	return r.Run(ctx, []string{source})
}
