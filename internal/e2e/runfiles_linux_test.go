package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// runFiles records what happens to files, without any listener.
func runFiles(t *testing.T, args ...string) *proxy {
	t.Helper()
	p := &proxy{file: filepath.Join(t.TempDir(), "session.xdsp"), stderr: newLines(), exited: make(chan struct{})}
	p.cmd = exec.Command(program(t), append([]string{"run", "--headless", "-w", p.file}, args...)...)
	p.cmd.Stderr, p.cmd.Env = p.stderr, quietEnv(t)
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
			t.Logf("stderr of xdsproxy:\n%s", p.stderr)
		}
	})
	p.stderr.find(t, regexp.MustCompile(`^watching .*, recording `+regexp.QuoteMeta(p.file)+`$`), p.exited)
	return p
}

// Whatever lies in the directory, and whatever becomes of it, is told in a sentence;
// what can be read is read, and nothing grows.
func TestRunFilesTrouble(t *testing.T) {
	t.Parallel()
	p := &plot{dir: filepath.Join(t.TempDir(), "configs")}
	texts := p.texts(t, 1)
	writeFiles(t, p.dir, texts)
	writeFiles(t, p.dir, map[string]string{
		"envoy.yaml": "static_resources: {}\n", "compose.yaml": "services: {web: {image: x}}\n", "README.md": "# hello\n", "broken.yaml": "resources: [",
	})
	if err := syscall.Mkfifo(p.path("pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := func() {
		t.Helper()
		f, err := os.Create(p.path("large.json"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(200 << 20); err != nil {
			t.Fatal(err)
		}
	}
	large()
	if err := os.Symlink("loop.yaml", p.path("loop.yaml")); err != nil {
		t.Fatal(err)
	}
	w := runFiles(t, "--files", p.dir)
	says := func(text string) {
		t.Helper()
		w.stderr.find(t, regexp.MustCompile(text), w.exited)
	}
	dir := regexp.QuoteMeta(p.dir)
	says(`^\S+ info in ` + dir + ` these are not watched, since Envoy reads a bootstrap only when it starts: envoy\.yaml$`)
	says(`^\S+ info in ` + dir + ` these are not watched, since nothing in them is of a DiscoveryResponse: compose\.yaml$`)
	says(`^\S+ warn ` + dir + `/pipe\.yaml is not read: not a regular file; what Envoy makes of it is not known$`)
	says(`^\S+ warn ` + dir + `/large\.json is not read: it is larger than 16 MiB; what Envoy makes of it is not known$`)
	says(`^\S+ error file-invalid: no DiscoveryResponse: ` + dir + `/broken\.yaml:1`)

	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	says(`SIGHUP: files in the directories of --files are read by themselves when they change$`)

	if err := os.Rename(p.dir, p.dir+".old"); err != nil {
		t.Fatal(err)
	}
	says(`^\S+ warn ` + dir + ` cannot be read any more \(no such file or directory\); its files are watched again when it is back$`)
	writeFiles(t, p.dir+".new", p.texts(t, 2))
	if err := os.Rename(p.dir+".new", p.dir); err != nil {
		t.Fatal(err)
	}
	says(`^\S+ warn ` + dir + ` is back as another directory; an Envoy that was started before does not see what happens in it$`)
	says(`warn file-not-moved: ` + dir + `/cds\.yaml changed after ` + dir + ` was replaced: `)
	move(t, p.path("rds.yaml"), p.texts(t, 3)["rds.yaml"])
	eventually(t, "the routes", func() bool {
		for _, o := range w.objects(t) {
			if o.Type == "RDS" && o.Version == "3" {
				return true
			}
		}
		return false
	})
	if most := w.memory(t, "VmHWM"); most > 250<<20 {
		t.Errorf("it takes %d bytes", most)
	}
	w.stop(t)
	events := map[string]string{}
	for _, o := range w.objects(t) {
		if o.File != nil {
			events[filepath.Base(o.File.Path)] += " " + o.File.Event
		}
	}
	for name, want := range map[string]string{
		"cds.yaml": " read swap", "rds.yaml": " read swap rename", "large.json": " read", "pipe.yaml": " read", "broken.yaml": " read",
	} {
		// That it was gone meanwhile is seen by a look between, which there need not be.
		if strings.ReplaceAll(events[name], " delete", "") != want {
			t.Errorf("%s: %q, want %q", name, events[name], want)
		}
	}
	for name := range events {
		if name == "envoy.yaml" || name == "compose.yaml" || name == "README.md" || name == "loop.yaml" {
			t.Errorf("%s is watched", name)
		}
	}
}

// objects is the recording as watch tells it.
func (p *proxy) objects(t *testing.T) (out []render.Object) {
	t.Helper()
	for line := range strings.Lines(string(p.run(t, "watch", p.file, "-o", "jsonl", "--no-follow"))) {
		var o render.Object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, o)
	}
	return out
}

// Files are watched beside an upstream, and what is said of both is in one recording.
func TestRunFilesBesideUpstream(t *testing.T) {
	t.Parallel()
	p := &plot{dir: t.TempDir()}
	writeFiles(t, p.dir, p.texts(t, 1))
	c := startControlPlane(t, "files")
	c.set(t, newMesh(t, xdstest.ADS()).world())
	w := startProxyWith(t, c.Addr(), setup{args: []string{"--files", p.dir}})
	w.stderr.find(t, regexp.MustCompile(`^watching .*, recording .*session.xdsp$`), w.exited)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ask := &discovery.DiscoveryRequest{TypeUrl: resource.ClusterType, Node: &corev3.Node{Id: "files"}}
	if err := xdstest.PlayClient(ctx, w.addr, xdstest.SotWStream, xdstest.Part{xdstest.Say(ask), xdstest.Hear(ask.TypeUrl, "1"), xdstest.End(codes.OK, "")}); err != nil {
		t.Fatal(err)
	}
	move(t, p.path("cds.yaml"), p.texts(t, 2)["cds.yaml"])
	eventually(t, "both", func() bool {
		files, streams := 0, 0
		seen := map[uint64]string{}
		for _, o := range w.objects(t) {
			if seen[o.Stream] != "" && o.Stream != 0 && seen[o.Stream] != o.Method {
				t.Fatalf("stream %d is of %s and of %s", o.Stream, seen[o.Stream], o.Method)
			}
			seen[o.Stream] = o.Method
			switch {
			case o.File != nil && o.File.Event == "rename":
				files++
			case o.Kind == "message" && o.Variant == "sotw-ads":
				streams++
			}
		}
		return files == 1 && streams > 0
	})
	w.stop(t)
}
