package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// tree is the command tree, as main1 makes it.
func tree(t *testing.T) (*cli, *cobra.Command) {
	t.Helper()
	a := &cli{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	a.config = settings.New()
	root := newRoot(a)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return a, root
}

// The table is the only place where a setting is described: whatever shows
// settings must show each of its rows.
func TestEverySettingIsEverywhere(t *testing.T) {
	a, root := tree(t)
	environment := a.config.EnvironmentHelp()
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range a.config.Table {
		if !strings.Contains(environment, s.Variable()) {
			t.Errorf("help environment does not name %s", s.Variable())
		}
		if run.Flags().Lookup(s.Name) == nil && run.InheritedFlags().Lookup(s.Name) == nil {
			t.Errorf("run has no flag --%s", s.Name)
		}
		if s.Help == "" || s.Group == "" || strings.HasSuffix(s.Help, ".") || s.Help[0] >= 'A' && s.Help[0] <= 'Z' {
			t.Errorf("%s: help %q, group %q", s.Name, s.Help, s.Group)
		}
	}
}

// Every page of help teaches by example and fits a terminal of 80 columns.
func TestHelpPages(t *testing.T) {
	a, root := tree(t)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			return // cobra's own words
		}
		if c.Short == "" || c.Long == "" || c.Example == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short %q, long %q, example %q", c.CommandPath(), c.Short, c.Long, c.Example)
		}
		out := new(bytes.Buffer)
		c.SetOut(out)
		a.help(c, nil)
		for line := range strings.Lines(out.String()) {
			if render.Width(strings.TrimSuffix(line, "\n")) > settings.HelpWidth {
				t.Errorf("%s: wider than %d: %s", c.CommandPath(), settings.HelpWidth, line)
			}
		}
	}
	visit(root)
	for _, topic := range topics() {
		for line := range strings.Lines(topic.text(a)) {
			if render.Width(strings.TrimSuffix(line, "\n")) > settings.HelpWidth {
				t.Errorf("%s: wider than %d: %s", topic.name, settings.HelpWidth, line)
			}
		}
	}
}

// A hint of the log stands on a line of its own, and what a peer has a part in
// does not act on a terminal.
func TestHintsInTheLog(t *testing.T) {
	var out bytes.Buffer
	a := &cli{stderr: &out}
	a.config = settings.New()
	a.logger(false).Warn("bad \x1b[31m name", zap.String("hint", "set \x1b[0m it"), zap.Int("conn", 3))
	if got := out.String(); !regexp.MustCompile(`^\S+ warn bad \S*\[31m name \{"conn": 3\}\nxdsproxy: hint: set \S*\[0m it\n$`).MatchString(got) || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
	out.Reset()
	a.config.LogFormat = "json"
	a.logger(false).Warn("bad", zap.String("hint", "set it"))
	if got := out.String(); !strings.Contains(got, `"hint":"set it"}`) {
		t.Errorf("%q", got)
	}
}
