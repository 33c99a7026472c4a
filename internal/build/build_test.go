package build

import (
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// What a program says of itself: of a test there is no commit.
func TestRead(t *testing.T) {
	f := Read()
	if f.Schema != render.Schema || f.Go != runtime.Version() || f.Platform != runtime.GOOS+"/"+runtime.GOARCH || f.Format != RecordingFormat || f.Version == "" || f.XDS == "" {
		t.Errorf("%+v", f)
	}
	if Name() != "xdsproxy "+f.Version {
		t.Error(Name())
	}
	if line := Line(); !regexp.MustCompile(`^xdsproxy \S+( \(commit (unknown|[0-9a-f]{12}(, modified)?)\))?, go\S+.*, xDS API \S+, recording format 1$`).MatchString(line) {
		t.Error(line)
	}
	if said := strings.Contains(Line(), "(commit unknown)"); said != f.Anonymous() {
		t.Error(Line())
	}
}

// What go build notes is what is said, and nobody guesses what it does not.
func TestNotes(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	module := func(path, version string) *debug.Module { return &debug.Module{Path: path, Version: version} }
	settings := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "-trimpath", Value: "true"},
			{Key: "vcs.revision", Value: revision},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
			{Key: "vcs.modified", Value: modified},
		}
	}
	deps := []*debug.Module{
		module("github.com/envoyproxy/go-control-plane", "v0.1.0"),
		module("github.com/envoyproxy/go-control-plane/envoy", "v1.37.0"),
		module("google.golang.org/grpc", "v1.80.0"),
	}
	for _, c := range []struct {
		info *debug.BuildInfo
		line string
		want Facts
	}{
		{nil, "(devel) (commit unknown)", Facts{Version: "(devel)", XDS: "unknown"}},
		{&debug.BuildInfo{}, "(devel) (commit unknown)", Facts{Version: "(devel)", XDS: "unknown"}},
		{
			&debug.BuildInfo{Main: *module("m", "v1.2.3"), Deps: deps}, "v1.2.3",
			Facts{Version: "v1.2.3", XDS: "v1.37.0"},
		},
		{
			&debug.BuildInfo{Main: *module("m", "(devel)"), Deps: deps, Settings: settings(commit, "true")}, "(devel) (commit 0123456789ab, modified)",
			Facts{Version: "(devel)", XDS: "v1.37.0", Commit: commit, Date: "2026-01-02T03:04:05Z", Modified: true},
		},
		{
			&debug.BuildInfo{Main: *module("m", "v1.2.4"), Deps: deps[:1], Settings: settings(commit, "false")}, "v1.2.4 (commit 0123456789ab)",
			Facts{Version: "v1.2.4", XDS: "unknown", Commit: commit, Date: "2026-01-02T03:04:05Z"},
		},
	} {
		c.want.Schema, c.want.Go, c.want.Format = render.Schema, runtime.Version(), 1
		c.want.Platform = runtime.GOOS + "/" + runtime.GOARCH
		got := of(c.info, c.info != nil)
		if got != c.want {
			t.Errorf("%+v\nwant %+v", got, c.want)
		}
		if want := "xdsproxy " + c.line + ", " + runtime.Version() + ", xDS API " + c.want.XDS + ", recording format 1"; got.line() != want {
			t.Errorf("%s\nwant %s", got.line(), want)
		}
	}
}
