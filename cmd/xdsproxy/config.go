package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/recorder"
)

func newConfig(a *cli) *cobra.Command {
	output := "text"
	cmd := a.command(&cobra.Command{
		Use:   "config [-o text|json|yaml]",
		Short: "Print every setting, where it comes from, and all paths",
		Long: `Prints the value of every setting that is in effect here and now, and where it
comes from: a flag, a variable of the environment, the configuration file, the
default, or another setting that implies it. Where the file has listeners, the
settings of each follow. It takes the flags of run, to try what they would do.

It also looks for what run would refuse before it begins, and then ends with 2:
settings that contradict each other, and addresses that do not pair up. So a
build can look at a file before it is used. What is in certificates and other
files that are named, only run looks at.`,
		Example: `xdsproxy config
XDSPROXY_DRAIN=10s xdsproxy config --listen :18000
xdsproxy config --config edge.yaml    # is this file right?
xdsproxy config -o json | jq .paths`,
	}, func(cmd *cobra.Command, args []string) error {
		if err := noArguments(cmd, args); err != nil {
			return err
		}
		refused := a.config.Check(a.console()) // which also finds out what implies what
		if err := a.writeConfig(a.configFacts(), output); err != nil {
			return err
		}
		return refused
	})
	a.useRunSettings(cmd)
	outputFlag(cmd, &output, "text", "json", "yaml")
	return cmd
}

func (a *cli) writeConfig(facts configFacts, output string) error {
	switch output {
	case "json":
		return a.console().JSON(facts)
	case "yaml":
		text, err := yaml.Marshal(facts)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(text)
		return err
	}
	return a.printConfig(facts)
}

// configFacts is what config -o json prints.
type configFacts struct {
	Schema   string         `json:"schema"`
	Settings []settingFacts `json:"settings"`
	// Listeners are those of the file, if they are used.
	Listeners []listenerFacts `json:"listeners,omitempty"`
	Paths     pathFacts       `json:"paths"`
}

type listenerFacts struct {
	// Place is where it stands in the file.
	Place    string         `json:"place"`
	Name     string         `json:"name,omitempty"`
	Settings []settingFacts `json:"settings"`
}

type settingFacts struct {
	Name string `json:"name"`
	// Value is a boolean, a list of strings or a string.
	Value  any             `json:"value"`
	Origin settings.Origin `json:"origin"`
	// From is the variable, the file or the setting that Origin speaks of.
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

func (a *cli) configFacts() configFacts {
	facts := configFacts{Schema: schema, Paths: a.paths()}
	facts.Settings = factsOf(a.config.Table)
	for _, l := range a.config.Listeners {
		facts.Listeners = append(facts.Listeners, listenerFacts{Place: l.Place, Name: l.Name, Settings: factsOf(l.Settings)})
	}
	return facts
}

func factsOf(table []*settings.Setting) []settingFacts {
	var facts []settingFacts
	for _, s := range table {
		f := settingFacts{Name: s.Name, Origin: s.Origin, From: s.From, Variable: s.Variable()}
		switch v := s.Value.(type) {
		case *settings.Bool:
			f.Value = bool(*v)
		case settings.List:
			f.Value = append([]string{}, s.Shown()...)
		default:
			f.Value = v.String()
		}
		facts = append(facts, f)
	}
	return facts
}

func (a *cli) paths() pathFacts {
	p := pathFacts{ConfigFile: a.config.Path, ConfigRead: a.config.Path != ""}
	if !p.ConfigRead {
		p.ConfigFile, _ = settings.DefaultConfigFile() // without a home there is none
	}
	if dir, err := recorder.StateDir(); err == nil {
		p.StateDir, p.Recordings = dir, filepath.Join(dir, "recordings")
	}
	p.LastRecording, _ = recorder.Last()
	p.Viewers = serve.LocalDir()
	return p
}

func writeSettings(b *strings.Builder, table []*settings.Setting) {
	for _, s := range table {
		value := strings.Join(s.Shown(), ", ")
		if value == "" {
			value = "-"
		}
		from := string(s.Origin)
		if s.Origin == settings.Implied {
			from += " by"
		}
		if s.From != "" {
			from += " " + s.From
		}
		fmt.Fprintf(b, "%-30s %-24s %s\n", s.Name, render.Safe(value), render.Safe(from))
	}
}

func (a *cli) printConfig(facts configFacts) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-30s %-24s %s\n", "SETTING", "VALUE", "ORIGIN")
	writeSettings(&b, a.config.Table)
	for _, l := range a.config.Listeners {
		fmt.Fprintf(&b, "\n%s\n", render.Safe(l.String()))
		writeSettings(&b, l.Settings)
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
		{input.Last, last},
	} {
		fmt.Fprintf(&b, "%-30s %s\n", p[0], render.Safe(p[1]))
	}
	_, err := a.stdout.Write([]byte(b.String()))
	return err
}
