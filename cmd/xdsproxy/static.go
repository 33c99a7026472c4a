package main

import (
	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
	"github.com/xdsproxy/xdsproxy/internal/wrap"
)

// bootstrapFlag lets a command know which clusters the clients have anyway.
func (a *cli) bootstrapFlag(cmd *cobra.Command) {
	cmd.Flags().Var(staticValue{a}, "bootstrap", "the bootstrap of the Envoys, or what their /config_dump says: what it has is not missing")
}

// staticValue reads the file that a flag names.
type staticValue struct{ cli *cli }

func (v staticValue) String() string { return "" }
func (v staticValue) Type() string   { return "FILE" }
func (v staticValue) Set(file string) error {
	text, err := wrap.ReadBootstrap(v.cli.console(), file)
	if err != nil {
		return err
	}
	found, err := bootstrap.StaticClusters(file, text)
	v.cli.config.Static = append(v.cli.config.Static, found...)
	return err
}
