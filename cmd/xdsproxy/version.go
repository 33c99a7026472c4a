package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionFacts is what version -o json prints.
type versionFacts struct {
	Schema string `json:"schema"`
	// Version is that of the module, or "(devel)" for a build of a working
	// tree.
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the working tree differed from Commit
	Date     string `json:"date,omitempty"`     // of Commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// XDS is the version of github.com/envoyproxy/go-control-plane/envoy, which
	// follows Envoy's own.
	XDS    string `json:"xds_api"`
	Format int    `json:"recording_format"`
}

// recordingFormat is the version of recordings that are written.
const recordingFormat = 1

const xdsModule = "github.com/envoyproxy/go-control-plane/envoy"

func buildFacts() versionFacts {
	v := versionFacts{
		Schema: schema, Version: "(devel)", Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, XDS: "unknown", Format: recordingFormat,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		if d.Path == xdsModule {
			v.XDS = d.Version
		}
	}
	return v
}

// versionName is what a recording says of its writer.
func versionName() string { return "xdsproxy " + buildFacts().Version }

// versionLine is what --version prints.
func versionLine() string {
	v := buildFacts()
	line := "xdsproxy " + v.Version
	if v.Commit != "" {
		line += fmt.Sprintf(" (commit %.12s", v.Commit)
		if v.Modified {
			line += ", modified"
		}
		line += ")"
	}
	return line + fmt.Sprintf(", %s, xDS API %s, recording format %d", v.Go, v.XDS, v.Format)
}

func newVersion(a *app) *cobra.Command {
	output := "text"
	cmd := plainCommand(&cobra.Command{
		Use:   "version [-o text|json]",
		Short: "Print the version",
		Long: `Prints the version of this program: of its source, of Go, of the xDS API whose
messages it can decode, and of the recordings that it writes.`,
		Example: `xdsproxy version
xdsproxy version -o json`,
	}, func(cmd *cobra.Command, args []string) error {
		if err := noArguments(cmd, args); err != nil {
			return err
		}
		if output == "json" {
			return a.console().JSON(buildFacts())
		}
		v := buildFacts()
		rows := [][2]string{
			{"version", v.Version},
			{"commit", v.Commit},
			{"date", v.Date},
			{"go", v.Go + " " + v.Platform},
			{"xDS API", v.XDS},
			{"recording format", fmt.Sprint(v.Format)},
		}
		if v.Modified {
			rows[1][1] += " (modified)"
		}
		return a.console().Pairs(rows)
	})
	outputFlag(cmd, &output, "text", "json")
	return cmd
}
