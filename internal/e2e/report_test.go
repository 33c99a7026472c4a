package e2e

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reported makes a report of a source, and unpacks it into a directory of its own.
func reported(t *testing.T, source string, args ...string) (dir string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.zip")
	runProgram(t, append([]string{"report", source, "--yes", "-w", path}, args...)...)
	return unpacked(t, path)
}

func unpacked(t *testing.T, path string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		in, err := z.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(f.Name)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)\n```")

// told are the blocks of commands in a file of a report.
func told(t *testing.T, dir, name string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// shell runs commands in a directory as a person does that has xdsproxy and Envoy in
// the PATH, and returns what they print.
func shell(t *testing.T, dir, commands string) string {
	t.Helper()
	bin := t.TempDir()
	for name, path := range map[string]string{"xdsproxy": program(t), "envoy": envoyPath(t)} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", commands)
	cmd.Dir, cmd.Env = dir, append(quietEnv(t), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}

// Who has nothing but the zip sees a fresh Envoy reject the same again, with the
// commands in it: of the demo, of clients with one stream and with a stream for each
// type, and of one to which a resource was refreshed without its content.
func TestReportReproduces(t *testing.T) {
	t.Parallel()
	systems := filepath.Join(filepath.Dir(sessionsDir), "systems")
	for _, c := range []struct{ source, rule string }{
		{"demo", "nack-received"},
		{filepath.Join(sessionsDir, "envoy-sotw-nack.xdsp"), "nack-received"},
		{filepath.Join(systems, "consul-nack.xdsp"), "nack-received"},
		{filepath.Join(systems, "jcp-per-type-delta.xdsp"), "nack-received"},
		{filepath.Join(sessionsDir, "snapshot-with-ttl-unannounced.xdsp"), ""},
	} {
		t.Run(strings.TrimSuffix(filepath.Base(c.source), ".xdsp"), func(t *testing.T) {
			t.Parallel()
			dir := ""
			if c.source == "demo" {
				path := filepath.Join(t.TempDir(), "demo.zip")
				runProgram(t, "demo", "--report", path)
				dir = unpacked(t, path)
			} else {
				dir = reported(t, c.source)
			}
			blocks := told(t, dir, "REPRODUCE.md")
			if said := shell(t, dir, blocks[0]); !strings.Contains(said, ", no difference") {
				t.Errorf("%s says\n%s", blocks[0], said)
			}
			if c.rule == "" {
				return
			}
			if said := shell(t, dir, blocks[1]); !strings.Contains(said, "~ "+c.rule) {
				t.Errorf("%s says\n%s", blocks[1], said)
			}
		})
	}
}
