package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// plot is a directory of files that an Envoy subscribes to: listeners in lds.yaml, whose
// routes are in rds.yaml, and clusters in cds.yaml. All is about how the files get
// there.
type plot struct {
	dir     string // as Envoy has it
	watched string // the watched_directory of each; "" for none
}

func (p *plot) path(name string) string { return filepath.Join(p.dir, name) }

// source is how Envoy subscribes to a file.
func (p *plot) source(name string) object {
	s := object{"path": p.path(name)}
	if p.watched != "" {
		s["watched_directory"] = object{"path": p.watched}
	}
	return object{"path_config_source": s}
}

// texts are the files in one version. What is in them has the shape of Envoy's own
// examples.
func (p *plot) texts(t *testing.T, version int) map[string]string {
	t.Helper()
	source, err := json.Marshal(p.source("rds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"cds.yaml": fmt.Sprintf(`version_info: "%d"
resources:
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: service
  connect_timeout: %ds
  type: STATIC
  load_assignment:
    cluster_name: service
    endpoints:
    - lb_endpoints:
      - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 9}}}
`, version, version),
		"lds.yaml": fmt.Sprintf(`version_info: "%d"
resources:
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: ingress
  address: {socket_address: {address: 127.0.0.1, port_value: 0}}
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        stat_prefix: ingress_%d
        rds: {route_config_name: routes, config_source: %s}
        http_filters:
        - name: envoy.filters.http.router
          typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
`, version, version, source),
		"rds.yaml": fmt.Sprintf(`version_info: "%d"
resources:
- "@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
  name: routes
  virtual_hosts:
  - {name: all, domains: ["*"], routes: [{match: {prefix: /}, direct_response: {status: 200, body: {inline_string: "%d"}}}]}
`, version, version),
	}
}

// write makes files in a directory.
func writeFiles(t *testing.T, dir string, texts map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// move moves a file to a path, as who updates files of Envoy does.
func move(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".next", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
}

// link lets a link lead elsewhere, in the way that is seen as a move.
func link(t *testing.T, target, at string) {
	t.Helper()
	if err := os.Symlink(target, at+"_tmp"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at+"_tmp", at); err != nil {
		t.Fatal(err)
	}
}

// envoy starts an Envoy that subscribes to the files.
func (p *plot) envoy(t *testing.T) (e *envoy, bootstrap string) {
	t.Helper()
	text := object{
		"node":              object{"id": "files", "cluster": "e2e"},
		"admin":             object{"address": addressFor(t, "127.0.0.1:0")},
		"dynamic_resources": object{"lds_config": p.source("lds.yaml"), "cds_config": p.source("cds.yaml")},
	}
	e, admin := launchEnvoyWith(t, text)
	e.await(t, admin)
	bootstrap = filepath.Join(t.TempDir(), "envoy.json")
	writeBootstrap(t, bootstrap, text)
	return e, bootstrap
}

// attempts is how often an Envoy has read the clusters, and the routes.
func (e *envoy) attempts(t *testing.T) (clusters, routes int) {
	t.Helper()
	text, err := get("http://" + e.admin + "/stats?filter=update_attempt")
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) int {
		m := regexp.MustCompile(`(?m)`+name+`: (\d+)$`).FindAllStringSubmatch(text, -1)
		if len(m) == 0 {
			return 0
		}
		n, _ := strconv.Atoi(m[len(m)-1][1])
		return n
	}
	return of(`^cluster_manager\.cds\.update_attempt`), of(`\.rds\.routes\.update_attempt`)
}

// watchFiles shows what happens to files, as JSON.
func watchFiles(t *testing.T, args ...string) *proxy {
	t.Helper()
	p := &proxy{stderr: newLines(), stdout: newLines(), exited: make(chan struct{})}
	p.cmd = exec.Command(program(t), append([]string{"watch", "-o", "jsonl"}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = p.stdout, p.stderr, quietEnv(t)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("output of xdsproxy watch:\n%s\n%s", p.stdout, p.stderr)
		}
	})
	p.stderr.find(t, regexp.MustCompile(`^watching .*, recording memory$`), p.exited)
	return p
}

// loads are what happened to a file so far, each with what rules found: "rename yes",
// "swap no file-not-moved:warning".
func (p *proxy) loads(t *testing.T, path string) (out []string) {
	t.Helper()
	text := p.stdout.String()
	for line := range strings.Lines(text[:strings.LastIndexByte(text, '\n')+1]) {
		var o render.Object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch {
		case o.Method != "file:"+path:
		case o.File != nil && o.File.Event == "delete": // which is seen if one looks just then
		case o.File != nil:
			out = append(out, strings.TrimSpace(o.File.Event+" "+o.File.Seen))
		case len(out) > 0:
			for _, f := range o.Findings {
				out[len(out)-1] += " " + f.Rule + ":" + f.Severity
			}
		}
	}
	return out
}

// happened waits until what happened to a file is so many, and compares the last.
func (p *proxy) happened(t *testing.T, path string, n int, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("event %d of %s", n, path), func() bool { return len(p.loads(t, path)) >= n && strings.Contains(p.stdout.String(), "\n") })
	var got []string
	eventually(t, fmt.Sprintf("%q, but %s", want, path), func() bool {
		got = p.loads(t, path)
		return len(got) == n && got[n-1] == want
	})
}

// Of each way to change files, what is said that Envoy sees of it is what Envoy sees.
// So that nothing has to be waited for that does not happen, a move of the routes, which
// Envoy sees, follows what it does not.
func TestWatchFilesLikeEnvoy(t *testing.T) {
	t.Parallel()
	tool(t, "envoy", "envoy", "_bin", "envoy")
	const unmoved = " file-not-moved:warning"
	// configMap mounts files as the kubelet does: each is a link through ..data.
	configMap := func(t *testing.T, p *plot, version int) {
		t.Helper()
		name := fmt.Sprintf("..v%d", version)
		writeFiles(t, p.path(name), p.texts(t, version))
		link(t, name, p.path("..data"))
		for name := range p.texts(t, 1) {
			if version == 1 {
				link(t, filepath.Join("..data", name), p.path(name))
			}
		}
	}
	plain := func(t *testing.T, p *plot, version int) { writeFiles(t, p.dir, p.texts(t, version)) }
	for name, c := range map[string]struct {
		watched string // below the directory
		linked  bool   // the directory is a link
		lay     func(t *testing.T, p *plot, version int)
		update  func(t *testing.T, p *plot)
		all     bool // of all files
		want    string
		sees    bool
	}{
		"a move": {lay: plain, sees: true, want: "rename yes", update: func(t *testing.T, p *plot) {
			move(t, p.path("cds.yaml"), p.texts(t, 2)["cds.yaml"])
		}},
		"a move with a watched directory": {watched: ".", lay: plain, sees: true, want: "rename yes", update: func(t *testing.T, p *plot) {
			move(t, p.path("cds.yaml"), p.texts(t, 2)["cds.yaml"])
		}},
		"a move, and another directory is watched": {watched: "gate", lay: plain, want: "rename no" + unmoved, update: func(t *testing.T, p *plot) {
			move(t, p.path("cds.yaml"), p.texts(t, 2)["cds.yaml"])
		}},
		"a write": {lay: plain, want: "write no" + unmoved, update: func(t *testing.T, p *plot) {
			writeFiles(t, p.dir, map[string]string{"cds.yaml": p.texts(t, 2)["cds.yaml"]})
		}},
		"removed and written": {lay: plain, want: "create no" + unmoved, update: func(t *testing.T, p *plot) {
			if err := os.Remove(p.path("cds.yaml")); err != nil {
				t.Fatal(err)
			}
			writeFiles(t, p.dir, map[string]string{"cds.yaml": p.texts(t, 2)["cds.yaml"]})
		}},
		"a link in its place": {lay: plain, sees: true, want: "rename yes", update: func(t *testing.T, p *plot) {
			writeFiles(t, p.path("next"), p.texts(t, 2))
			link(t, filepath.Join("next", "cds.yaml"), p.path("cds.yaml"))
		}},
		"a linked directory": {linked: true, lay: plain, all: true, want: "swap no" + unmoved, update: func(t *testing.T, p *plot) {
			writeFiles(t, p.dir+".next", p.texts(t, 2))
			link(t, filepath.Base(p.dir)+".next", p.dir)
		}},
		"a ConfigMap": {lay: configMap, all: true, want: "swap no" + unmoved, update: func(t *testing.T, p *plot) { configMap(t, p, 2) }},
		"a ConfigMap with a watched directory": {watched: ".", lay: configMap, all: true, sees: true, want: "swap yes", update: func(t *testing.T, p *plot) {
			configMap(t, p, 2)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &plot{dir: filepath.Join(t.TempDir(), "configs")}
			if c.linked {
				if err := os.Mkdir(p.dir+".first", 0o700); err != nil {
					t.Fatal(err)
				}
				link(t, "configs.first", p.dir)
			}
			if c.watched != "" {
				p.watched = filepath.Join(p.dir, c.watched)
				if err := os.MkdirAll(p.watched, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			c.lay(t, p, 1)
			e, bootstrap := p.envoy(t)
			e.url(t, "ingress")
			w := watchFiles(t, "--files", p.dir, "--envoy-bootstrap", bootstrap)
			for name := range p.texts(t, 1) {
				w.happened(t, p.path(name), 1, "read")
			}
			before, routes := e.attempts(t)
			c.update(t, p)
			if c.sees {
				eventually(t, "that Envoy reads the clusters again", func() bool { now, _ := e.attempts(t); return now > before })
			}
			w.happened(t, p.path("cds.yaml"), 2, c.want)
			if c.all {
				w.happened(t, p.path("rds.yaml"), 2, c.want)
			}
			if c.sees {
				return
			}
			switch { // what Envoy does see
			case c.linked:
				move(t, filepath.Join(p.dir+".first", "rds.yaml"), p.texts(t, 3)["rds.yaml"])
			case c.watched != "":
				move(t, filepath.Join(p.watched, "rds.yaml"), p.texts(t, 3)["rds.yaml"])
			default:
				move(t, p.path("rds.yaml"), p.texts(t, 3)["rds.yaml"])
			}
			eventually(t, "that Envoy reads the routes again", func() bool { _, now := e.attempts(t); return now > routes })
			if now, _ := e.attempts(t); now != before && c.watched == "" {
				t.Errorf("Envoy has read the clusters %d times more", now-before)
			}
			if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			if code := w.ended(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			w.stderr.find(t, regexp.MustCompile(`^\d+ messages of 3 files, no gaps$`), w.exited)
		})
	}
}

// verdicts are what Envoy made of changed files, each once: "cds.yaml taken".
func (p *proxy) verdicts(t *testing.T) (out []string) {
	t.Helper()
	for line := range strings.Lines(p.stdout.String()) {
		var o render.Object
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &o) != nil || o.Held == nil {
			continue
		}
		for _, l := range o.Held.Loads {
			text := filepath.Base(l.Path) + " " + l.Verdict
			for _, f := range o.Findings {
				text += " " + f.Rule + ": " + f.Message
			}
			out = append(out, text)
		}
	}
	return out
}

// What an Envoy makes of a file is known where its admin endpoint is asked: that it took
// it, that it did not and why, that it could not read it, and that it has not looked.
func TestWatchFilesVerdict(t *testing.T) {
	t.Parallel()
	tool(t, "envoy", "envoy", "_bin", "envoy")
	p := &plot{dir: t.TempDir()}
	writeFiles(t, p.dir, p.texts(t, 1))
	e, bootstrap := p.envoy(t)
	e.url(t, "ingress")
	w := watchFiles(t, "--files", p.dir, "--envoy-bootstrap", bootstrap, "--envoy-admin", e.admin, "--held-interval", "1s")
	eventually(t, "that Envoy is asked", func() bool { return strings.Contains(w.stdout.String(), `"kind":"held"`) })
	n := 0
	said := func(want string) {
		t.Helper()
		eventually(t, want, func() bool {
			all := w.verdicts(t)
			return len(all) > n && regexp.MustCompile(want).MatchString(all[n])
		})
		n++
	}
	path := p.path("lds.yaml")
	move(t, p.path("cds.yaml"), p.texts(t, 2)["cds.yaml"])
	said(`^cds.yaml taken$`)
	move(t, p.path("rds.yaml"), p.texts(t, 2)["rds.yaml"])
	said(`^rds.yaml taken$`)
	text := p.texts(t, 2)["lds.yaml"]
	_, chain, _ := strings.Cut(text, "  filter_chains:\n")
	move(t, path, text+chain)
	said(`^lds.yaml rejected file-invalid: Envoy rejected \S+lds.yaml: .*same matching rules`)
	move(t, path, strings.Replace(text, "port_value: 0", "port_value: 70000", 1))
	said(`^lds.yaml rejected file-invalid: Envoy rejected \S+lds.yaml; its log says why$`)
	move(t, path, "resources: [")
	said(`^lds.yaml unreadable file-invalid: Envoy could not read \S+lds.yaml$`)
	writeFiles(t, p.dir, p.texts(t, 3))
	eventually(t, "that Envoy has read none of them", func() bool { return len(w.verdicts(t)) >= n+2 })
	for _, v := range w.verdicts(t)[n:] {
		if !strings.HasSuffix(v, "not-read") && !strings.Contains(v, "not-read file-not-moved: ") { // the latter if it was asked late
			t.Error(v)
		}
	}
}
