package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

func newExplain(a *cli) *cobra.Command {
	output := "text"
	cmd := a.command(&cobra.Command{
		Use:   "explain [RULE] [-o text|json]",
		Short: "Say what a rule means and what to do; without RULE list them",
		Long: `Says what a finding of a rule means, what usually causes it, and what to do
next. Without a RULE, lists all rules: ! usually an error, ~ a warning, i a
note. -o json has the same of each.`,
		Example: `xdsproxy explain nack-immediate-resend
xdsproxy explain`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeRules(cmd, args, text)
		},
	}, a.paging(func(_ *cobra.Command, args []string) error {
		style := a.console().Style()
		if len(args) > 1 {
			return misused("explain takes one RULE, but got %d", len(args))
		}
		rules, err := rulesNamed(strings.Join(args, ""))
		if err != nil {
			return err
		}
		return a.console().Show(output, render.NewRules(rules), func() string {
			width := a.console().Columns()
			if len(args) == 0 {
				return render.RuleList(rules, style, width)
			}
			if width == 0 || width > settings.HelpWidth {
				width = settings.HelpWidth
			}
			return render.RulePage(rules[0], style, width)
		})
	}))
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// rulesNamed is the rule with this id; all, if none is named.
func rulesNamed(id string) ([]*check.Rule, error) {
	all := check.Rules()
	if id == "" {
		return all, nil
	}
	for _, r := range all {
		if r.ID == id {
			return []*check.Rule{r}, nil
		}
	}
	return nil, unknownRule(id)
}
