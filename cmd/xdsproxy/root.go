package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

const rootLong = `xdsproxy stands between xDS clients (Envoy, gRPC, istio-agent) and their control
plane. It forwards every byte unchanged, decodes every message on its way, and
records the whole conversation, so that you can read who said what, and why not.`

const rootExample = `# See it work: a control plane, clients and the proxy in one process
xdsproxy demo

# Run an Envoy, or a gRPC program, with the proxy in front of its servers
xdsproxy wrap envoy -c envoy.yaml

# Put it in front of a control plane that listens on port 15010
xdsproxy run --upstream 127.0.0.1:15010
# then point Envoy's xds cluster at 127.0.0.1:18000, and restart Envoy

# Read what was said; @last is the newest recording
xdsproxy watch @last
xdsproxy show @last 12`

// The groups in which the root help lists the commands.
const (
	commandsRecord = "record"
	commandsRead   = "read"
	commandsJudge  = "judge"
	commandsOther  = "other"
)

// newRoot builds the tree of commands.
func newRoot(a *cli) *cobra.Command {
	root := &cobra.Command{
		Use:           "xdsproxy COMMAND",
		Short:         "A transparent debugging proxy for xDS",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if line, _ := cmd.Flags().GetBool("version"); line {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), build.Line())
				return err
			}
			return cmd.Help()
		},

		DisableFlagsInUseLine: true,
	}
	if cobra.EnableCommandSorting { // cobra's own, of the whole process
		cobra.EnableCommandSorting = false
	}
	root.AddGroup(
		&cobra.Group{ID: commandsRecord, Title: "Record"},
		&cobra.Group{ID: commandsRead, Title: "Read"},
		&cobra.Group{ID: commandsJudge, Title: "Judge"},
		&cobra.Group{ID: commandsOther, Title: "Other"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(commandsRecord, newRun(a), newWrap(a), newDemo(a))
	add(commandsRead, newOpen(a), newWatch(a), newShow(a), newDiff(a), newInfo(a), newMCP(a), newExport(a), newReport(a), newImport(a), newReveal(a))
	add(commandsJudge, newCheck(a), newExplain(a), newStatus(a), newPushes(a), newTree(a), newServeCSDS(a), newReplay(a), newBisect(a))
	add(commandsOther, newConfig(a), newVersion(a))

	a.use(root, root.PersistentFlags(), func(s *settings.Setting) bool { return !s.Run })
	root.PersistentFlags().BoolP("help", "h", false, "print this help")
	root.PersistentFlags().Lookup("help").Annotations = map[string][]string{settings.GroupKey: {settings.GroupGlobal}}
	// Not by root.Version of cobra: its template is the one way to text/template,
	// which asks for methods by name, so that the linker has to keep all methods
	// of all types: 10 MB.
	root.Flags().Bool("version", false, "print the version in one line")
	root.SetFlagErrorFunc(flagFailure)
	root.SetHelpFunc(a.help)
	root.SetHelpCommand(newHelp(a))
	root.SetHelpCommandGroupID(commandsOther)
	root.SetCompletionCommandGroupID(commandsOther)
	return root
}
