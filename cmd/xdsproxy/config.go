package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/recorder"
)

func newConfig(a *app) *cobra.Command {
	output := "text"
	cmd := a.command(&cobra.Command{
		Use:   "config [-o text|json|yaml]",
		Short: "Print every setting, where it comes from, and all paths",
		Long: `Prints the value of every setting that is in effect here and now, and where it
comes from: a flag, a variable of the environment, the configuration file, or
the default. It takes the flags of run, to try what they would do.`,
		Example: `xdsproxy config
XDSPROXY_DRAIN=10s xdsproxy config --listen :18000
xdsproxy config -o json | jq .paths`,
	}, func(cmd *cobra.Command, args []string) error {
		if err := noArguments(cmd, args); err != nil {
			return err
		}
		facts := a.configFacts()
		switch output {
		case "json":
			return a.printJSON(facts)
		case "yaml":
			text, err := yaml.Marshal(facts)
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(text)
			return err
		}
		return a.printConfig(facts)
	})
	a.useRunSettings(cmd)
	outputFlag(cmd, &output, "text", "json", "yaml")
	return cmd
}

// configFacts is what config -o json prints.
type configFacts struct {
	Schema   string         `json:"schema"`
	Settings []settingFacts `json:"settings"`
	Paths    pathFacts      `json:"paths"`
}

type settingFacts struct {
	Name string `json:"name"`
	// Value is a boolean, a list of strings or a string.
	Value  any    `json:"value"`
	Origin origin `json:"origin"`
	// From is the variable or the file that Origin speaks of.
	From     string `json:"from,omitempty"`
	Variable string `json:"variable"`
}

type pathFacts struct {
	ConfigFile string `json:"config_file"`
	// ConfigRead says that the file was there and was read.
	ConfigRead    bool   `json:"config_read"`
	StateDir      string `json:"state_dir"`
	Recordings    string `json:"recordings"`
	LastRecording string `json:"last_recording,omitempty"`
	// Viewers is where the sockets of running proxies are.
	Viewers string `json:"viewers"`
}

func (a *app) configFacts() configFacts {
	facts := configFacts{Schema: schema, Paths: a.paths()}
	for _, s := range a.settings {
		f := settingFacts{Name: s.name, Origin: s.origin, From: s.from, Variable: s.variable()}
		switch v := s.value.(type) {
		case *boolValue:
			f.Value = bool(*v)
		case listValue:
			f.Value = append([]string{}, v.list()...)
		default:
			f.Value = v.String()
		}
		facts.Settings = append(facts.Settings, f)
	}
	return facts
}

func (a *app) paths() pathFacts {
	p := pathFacts{ConfigFile: a.configFile, ConfigRead: a.configFile != ""}
	if !p.ConfigRead {
		p.ConfigFile, _ = defaultConfigFile() // without a home there is none
	}
	if dir, err := stateDir(); err == nil {
		p.StateDir, p.Recordings = dir, filepath.Join(dir, "recordings")
	}
	p.LastRecording, _ = recorder.Last()
	p.Viewers = serve.LocalDir()
	return p
}

func (a *app) printConfig(facts configFacts) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-30s %-24s %s\n", "SETTING", "VALUE", "ORIGIN")
	for i, s := range facts.Settings {
		value := strings.Join(a.settings[i].texts(), ", ")
		if value == "" {
			value = "-"
		}
		from := string(s.Origin)
		if s.From != "" {
			from += " " + s.From
		}
		fmt.Fprintf(&b, "%-30s %-24s %s\n", s.Name, render.Safe(value), render.Safe(from))
	}
	note := ""
	if !facts.Paths.ConfigRead {
		note = " (not there)"
	}
	last := facts.Paths.LastRecording
	if last == "" {
		last = "(none yet)"
	}
	b.WriteString("\nPATHS\n")
	for _, p := range [][2]string{
		{"configuration", facts.Paths.ConfigFile + note},
		{"state", facts.Paths.StateDir},
		{"recordings", facts.Paths.Recordings},
		{"viewers", facts.Paths.Viewers},
		{lastSource, last},
	} {
		fmt.Fprintf(&b, "%-30s %s\n", p[0], render.Safe(p[1]))
	}
	_, err := a.stdout.Write([]byte(b.String()))
	return err
}
