package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// help prints what --help prints. It fits in 80 columns.
func (a *cli) help(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(text), cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		writeCommands(&b, cmd)
	}
	if cmd.Example != "" {
		title := "Examples"
		if !cmd.HasParent() {
			title = "First steps"
		}
		fmt.Fprintf(&b, "\n%s:\n%s\n", title, indent(strings.TrimSpace(cmd.Example)))
	}
	if !cmd.HasParent() {
		writeTopics(&b)
	}
	writeFlags(&b, cmd)
	_, _ = io.WriteString(cmd.OutOrStdout(), b.String()) // a reader that left needs no help
}

func writeCommands(b *strings.Builder, cmd *cobra.Command) {
	line := func(c *cobra.Command) {
		if c.IsAvailableCommand() || c.Name() == "help" {
			fmt.Fprintf(b, "  %-13s%s\n", c.Name(), c.Short)
		}
	}
	if len(cmd.Groups()) == 0 {
		b.WriteString("\nCommands:\n")
	}
	for _, c := range cmd.Commands() {
		if c.GroupID == "" {
			line(c)
		}
	}
	for _, g := range cmd.Groups() {
		fmt.Fprintf(b, "\n%s:\n", g.Title)
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID {
				line(c)
			}
		}
	}
}

// writeFlags lists the flags by group.
func writeFlags(b *strings.Builder, cmd *cobra.Command) {
	for _, g := range flagGroups(cmd) {
		fmt.Fprintf(b, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(settings.HelpWidth))
	}
}

// flagGroup is a list of flags under a title.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups sorts the flags of a command into groups: its own first, those that
// every command has last.
func flagGroups(cmd *cobra.Command) []flagGroup {
	var groups []flagGroup
	places := map[string]int{}
	add := func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := ""
		if g := f.Annotations[settings.GroupKey]; len(g) > 0 {
			name = g[0]
		}
		if _, known := places[name]; !known {
			title := name
			switch {
			case name == "":
				title = "Flags"
			case name == settings.GroupGlobal:
				title = "Flags of every command"
			case !strings.Contains(name, " "):
				title += " flags"
			}
			g := flagGroup{title, pflag.NewFlagSet(name, pflag.ContinueOnError)}
			g.flags.SortFlags = false
			places[name] = len(groups)
			groups = append(groups, g)
		}
		groups[places[name]].flags.AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if cmd.PersistentFlags().Lookup(f.Name) == nil {
			add(f)
		}
	})
	cmd.InheritedFlags().VisitAll(add)
	cmd.PersistentFlags().VisitAll(add)
	return groups
}

func indent(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

// newHelp is the help command: of a command, or of a topic.
func newHelp(a *cli) *cobra.Command {
	return plainCommand(&cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Explain a command or a topic",
		Long:  "Explains a command, or one of the topics that concern several commands.",
		Example: `xdsproxy help run
xdsproxy help exit-codes`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return append(commandNames(cmd.Root()), topicNames()...), cobra.ShellCompDirectiveNoFileComp
		},
	}, func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		if len(args) == 0 {
			return root.Help()
		}
		for _, t := range topics() {
			if t.name == args[0] {
				return a.console().Print(t.text(a))
			}
		}
		if c, rest, err := root.Find(args); err == nil && c != root && len(rest) == 0 {
			return c.Help()
		}
		f := misused("no help for %q: neither a command nor a topic", strings.Join(args, " "))
		f.Aloof = true // the lists below say it
		if best := nearest.Name(args[0], append(commandNames(root), topicNames()...)); best != "" {
			f.Hint("did you mean xdsproxy help %s?", best)
		}
		return f.Hint("commands: %s", strings.Join(commandNames(root), ", ")).
			Hint("topics: %s", strings.Join(topicNames(), ", "))
	})
}
