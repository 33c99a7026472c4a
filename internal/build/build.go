// Package build says which program this is.
package build

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Facts is what version -o json prints.
type Facts struct {
	Schema string `json:"schema"`
	// Version is that of the module, or "(devel)" for a build of a working
	// tree.
	Version string `json:"version"`
	// Commit is not there if nobody told go build: it was asked not to look
	// (-buildvcs=false), found no git, or built a module that it had fetched.
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

// RecordingFormat is the version of recordings that are written.
const RecordingFormat = 1

// devel is what Go calls the version of a working tree of which it knows nothing.
const devel = "(devel)"

const xdsModule = "github.com/envoyproxy/go-control-plane/envoy"

func Read() Facts { return of(debug.ReadBuildInfo()) }

// of is what a program says of which this is known, or nothing.
func of(info *debug.BuildInfo, ok bool) Facts {
	v := Facts{
		Schema: render.Schema, Version: devel, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, XDS: "unknown", Format: RecordingFormat,
	}
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

// Anonymous says that neither version nor commit tells which source this is.
func (v Facts) Anonymous() bool { return v.Version == devel && v.Commit == "" }

// Name is what a recording says of its writer.
func Name() string { return "xdsproxy " + Read().Version }

// Line is what --version prints.
func Line() string { return Read().line() }

func (v Facts) line() string {
	line := "xdsproxy " + v.Version
	switch {
	case v.Anonymous():
		line += " (commit unknown)"
	case v.Commit != "":
		line += fmt.Sprintf(" (commit %.12s", v.Commit)
		if v.Modified {
			line += ", modified"
		}
		line += ")"
	}
	return line + fmt.Sprintf(", %s, xDS API %s, recording format %d", v.Go, v.XDS, v.Format)
}
