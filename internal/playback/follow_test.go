package playback

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// timeless is a text without its times of day.
func timeless(text string) string {
	return regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3}`).ReplaceAllString(text, "TIME")
}

// What comes of following a recording, with a control plane or clients that are not there too.
func TestFollowing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := ""
	follow := func(name, as, source string, change func(p *played)) {
		p := play(t, as, "unix:"+filepath.Join(dir, "nobody"))
		p.Follow, p.Idle, p.Options.Idle = true, 300*time.Millisecond, 300*time.Millisecond
		change(p)
		got += "== " + name + "\n" + timeless(p.words(p.Run(t.Context(), []string{source})))
	}
	same := func(*played) {}
	follow("a recording that has ended", "client", recording("envoy-sotw-nack"), same)
	follow("a recording that has ended, to clients", "server", recording("envoy-sotw-nack"), same)
	follow("a recording that is not there", "client", filepath.Join(dir, "none.xdsp"), same)
	follow("a script", "client", filepath.Join("..", "..", "check", "testdata", "clients", "01-envoy-first-sync.xds"), same)
	follow("with a command when nobody is there", "server", recording("envoy-sotw-nack"), func(p *played) { p.Commands = [][]string{{"false"}} })
	follow("with a command for another client", "server", recording("envoy-sotw-nack"), func(p *played) { p.Commands, p.Client = [][]string{{"false"}}, "envoi" })
	got = strings.NewReplacer(dir, "DIR").Replace(got)
	golden.Is(t, "testdata/following.txt", got)
}
