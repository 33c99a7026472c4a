package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/replay/launch"
)

// shellFiles are made in the directory of a session.
var shellFiles = map[string]string{
	// A client that rejects one thing twelve times, and another one that is fine.
	"loop.xds": "C> type=CDS V= N= R=[] node=gw-0/edge\nS< type=CDS V=1 N=a res=[web{eds},api#1]\nC> type=CDS V=1 N=a R=[]\n" +
		strings.Repeat("t=+1s S< type=LDS V=2 N=b res=[bad]\nC> type=LDS V= N=b R=[] err=\"bad: no such filter\" code=13\n", 12) +
		"-- stream 2 peer=10.0.0.2\nC> type=CDS V= N= R=[] node=gw-1/edge\nS< type=CDS V=1 N=a res=[web{eds},api#1]\nC> type=CDS V=1 N=a R=[]\n" +
		"t=+2s S< type=CDS V=2 N=b res=[web{eds},api#2]\nC> type=CDS V=2 N=b R=[]\n-- client-end\n",
	// The same client on another day.
	"later.xds":  "C> type=CDS V= N= R=[] node=gw-0/edge\nS< type=CDS V=7 N=a res=[web{eds},api#2,new]\nC> type=CDS V=7 N=a R=[]\n",
	"delta.xds":  "D> type=CDS sub=[*] node=gw-0\nd< type=CDS N=a res=[web@1#1,api@1]\nD> type=CDS N=a\nd< type=CDS N=b res=[web@2#2] rm=[api]\nD> type=CDS N=b err=\"web: no\" code=3\n",
	"note.xds":   "C> type=LDS V= N= R=[] node=n1\nS< type=LDS V=1 N=a res=[one]\nt=+1s C> type=LDS V=1 N=a R=[]\n",
	"none.xds":   "-- stream 1 method=StreamAggregatedResources\n-- client-end\n",
	"text.txt":   "neither\n",
	"cds.yaml":   "resources:\n- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: web\n  connect_timeout: -1s\n",
	"lds.yaml":   "resources:\n- \"@type\": type.googleapis.com/envoy.config.listener.v3.Listener\n  name: in\n",
	"dump.json":  `{"configs": [{"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump", "bootstrap": {"node": {"id": "gw-0"}}}, {"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "version_info": "1", "dynamic_active_clusters": [{"version_info": "1", "cluster": {"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "web"}}]}]}`,
	"boot.yaml":  "node: {id: gw-0}\nstatic_resources:\n  clusters:\n  - {name: web, type: STATIC}\n",
	"good.yaml":  "drain: 5s\nlisteners:\n- name: edge\n  listen: 127.0.0.1:18000\n  upstream: 127.0.0.1:1\n- listen: unix:/run/x\n  upstream: unix:/run/cp\n",
	"drain.yaml": "listeners:\n- listen: :1\n  upstream: :2\n  drain: 7s\n",
	"bad.yaml":   "drain: soon\n",
}

// Sessions in a shell, as they are written down: below each command stand what it
// prints, what it says on standard error, and the exit code where it is not 0.
func TestAnswers(t *testing.T) {
	pages, err := filepath.Glob("testdata/shell/*.txt")
	if err != nil || len(pages) == 0 {
		t.Fatal("there is no session", err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			here, dir := filled(t)
			for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
				t.Setenv(v, filepath.Join(dir, "home"))
			}
			for _, v := range []string{"SHELL", "PAGER", "XDSPROXY_PAGER", "NO_COLOR", "CLICOLOR_FORCE"} {
				t.Setenv(v, "")
			}
			var b strings.Builder
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "# ") {
					b.WriteString("\n" + line)
				}
				if line, is := strings.CutPrefix(line, "$ xdsproxy"); is {
					fmt.Fprintf(&b, "$ xdsproxy%s%s", line, ran(t, dir, line))
				}
			}
			golden.Is(t, filepath.Join(here, page), strings.TrimPrefix(b.String(), "\n"))
		})
	}
}

// filled goes to a directory with the files of a session, from here.
func filled(t *testing.T) (here, dir string) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	t.Chdir(dir)
	for name, text := range shellFiles {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Date(2026, 3, 9, 12, 41, 7, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
	}
	for to, from := range map[string]string{
		"nack.xdsp": "envoy-sotw-nack", "demo.xdsp": "demo", "fleet/cluster=blue/proxy=gw-0/a.xdsp": "demo", "fleet/cluster=blue/proxy=gw-1/b.xdsp": "envoy-sotw-nack",
	} {
		b, err := os.ReadFile(filepath.Join(here, "..", "..", "check", "testdata", "sessions", from+".xdsp"))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if to == "nack.xdsp" {
			if err := os.WriteFile(filepath.Join(dir, "cut.xdsp"), b[:len(b)-700], 0o600); err != nil {
				t.Fatal(err)
			}
			b[len(b)*3/4] ^= 0xff
			if err := os.WriteFile(filepath.Join(dir, "torn.xdsp"), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return here, dir
}

// ran is what comes of a line of a session. Behind < stands the name of what is
// its standard input.
func ran(t *testing.T, dir, line string) string {
	t.Helper()
	line, from, piped := strings.Cut(line, " < ")
	words, err := launch.Words("xdsproxy " + strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	in := []byte(nil)
	if piped {
		if in, err = os.ReadFile(strings.TrimSpace(from)); err != nil {
			t.Fatal(err)
		}
	}
	var out, said bytes.Buffer
	code := main1(words[1:], bytes.NewReader(in), &out, &said)
	text := out.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for line := range strings.Lines(said.String()) {
		text += "2> " + line
	}
	if code != 0 {
		text += fmt.Sprintf("exit code %d\n", code)
	}
	text = strings.ReplaceAll(text, dir, "DIR")
	return volatile.ReplaceAllString(text, "…")
}

// volatile is what differs each time, or from machine to machine.
var volatile = regexp.MustCompile(`(xdsproxy|written by xdsproxy) v?\d\S*`)
