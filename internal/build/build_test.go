package build

import (
	"regexp"
	"runtime"
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
