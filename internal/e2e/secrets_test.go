package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
)

// Whatever secrets pass, in whatever place and compressed or not, none is in
// the file, in what the commands print from it, whole or damaged, or in the
// program's own log.
func TestSecretsNeverAppear(t *testing.T) {
	t.Parallel()
	seeded := &seeds{}
	upstream := seeded.serve(t)
	for name, options := range map[string][]grpc.CallOption{
		"plain": nil, "compressed": {grpc.UseCompressor(gzip.Name)}, // the server answers in kind
	} {
		p := startProxy(t, upstream)
		for range 4 { // each in blocks of its own, so that damage leaves some
			before := len(contents(t, p.file))
			if err := seeded.asks().converse(t.Context(), p.addr, options...); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			eventually(t, "it is written", func() bool { return len(contents(t, p.file)) > before })
		}
		p.stop(t)
		seeded.search(t, p)
	}
}

// search looks for every seed in all that can be had from a recording.
func (s *seeds) search(t *testing.T, p *proxy) {
	t.Helper()
	raw := contents(t, p.file)
	shown := p.run(t, "show", p.file, "1..", "-o", "yaml")
	readable(t, "show", shown)
	part := filepath.Join(t.TempDir(), "part.xdsp")
	p.run(t, "export", p.file, "--filter", "kind:resp,delta", "-w", part)
	exported := contents(t, part)
	folder := filepath.Join(t.TempDir(), "folder")
	p.run(t, "export", p.file, "-o", "dir", "-w", folder)
	var inFolder []byte
	if err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			inFolder = append(inFolder, contents(t, path)...)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	s.absent(t, map[string][]byte{
		"the folder": inFolder, "the recording in the folder": decompressed(t, contents(t, filepath.Join(folder, ".original.xdsp"))),
		"a part of it": exported, "a part of it, decompressed": decompressed(t, exported),
		"export -o csv": p.run(t, "export", p.file, "-o", "csv"), "export -o md": p.run(t, "export", p.file, "-o", "md"),
		"export -o mermaid": p.run(t, "export", p.file, "-o", "mermaid"), "export -o yaml": p.run(t, "export", p.file, "-o", "yaml"),
		"export -o html": p.run(t, "export", p.file, "-o", "html"),
	})
	s.absent(t, map[string][]byte{
		"the file": raw, "the decompressed file": decompressed(t, raw), "show -o yaml": shown,
		"show -o json":   p.run(t, "show", p.file, "1..", "-o", "json"),
		"watch":          p.run(t, "watch", p.file, "--no-follow"),
		"watch -o jsonl": p.run(t, "watch", p.file, "--no-follow", "-o", "jsonl"),
		"info":           p.run(t, "info", p.file),
		"info -o json":   p.run(t, "info", p.file, "-o", "json"),
		"the log":        []byte(p.stderr.String()),
	})
	s.searchReport(t, p)
	damaged := 5
	if *full {
		damaged = 20
	}
	for range damaged {
		s.searchDamaged(t, p, raw)
	}
}

// searchReport looks for seeds in a zip that is to be attached to an issue, and in
// what is said of it.
func (s *seeds) searchReport(t *testing.T, p *proxy) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.zip")
	args := []string{"report", p.file, "--yes", "-w", path}
	for n := range 40 { // entries that are in it, whatever the rules find
		args = append(args, strconv.Itoa(n+1))
	}
	said := try(t, args...)
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatalf("%v; it said\n%s", err, said)
	}
	defer z.Close()
	places := map[string][]byte{"what is said of a report": said}
	for _, f := range z.File {
		in, err := z.Open(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		places[f.Name+" of a report"] = text
		if filepath.Ext(f.Name) == ".xdsp" {
			places[f.Name+" of a report, decompressed"] = decompressed(t, text)
		}
	}
	s.absent(t, places)
}

// searchDamaged damages a recording and looks for seeds in what the commands say
// of it, on both outputs, and in what is rescued.
func (s *seeds) searchDamaged(t *testing.T, p *proxy, raw []byte) {
	t.Helper()
	bad := bytes.Clone(raw)
	for range 1 + rand.IntN(3) {
		bad[rand.IntN(len(bad))] ^= byte(1 + rand.IntN(255))
	}
	if rand.IntN(3) == 0 {
		bad = bad[:rand.IntN(len(bad))]
	}
	dir := t.TempDir()
	damaged, fixed := filepath.Join(dir, "damaged.xdsp"), filepath.Join(dir, "fixed.xdsp")
	if err := os.WriteFile(damaged, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	places := map[string][]byte{}
	for name, args := range map[string][]string{
		"show":   {"show", damaged, "1..", "-o", "yaml"},
		"watch":  {"watch", damaged, "--no-follow", "-o", "jsonl"},
		"info":   {"info", damaged, "--all"},
		"export": {"export", damaged, "--repair", "-w", fixed},
	} {
		places[name+" of a damaged recording"] = try(t, args...)
	}
	if rescued, err := os.ReadFile(fixed); err == nil {
		places["what is rescued"], places["what is rescued, decompressed"] = rescued, decompressed(t, rescued)
		places["show of what is rescued"] = try(t, "show", fixed, "1..")
	}
	s.absent(t, places)
}

// try runs a command of the program that may fail, but in its own words, and
// returns both of its outputs.
func try(t *testing.T, args ...string) []byte {
	t.Helper()
	path := program(t) // built first, however long that takes
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = quietEnv(t)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code < 0 || code == 2 {
		t.Errorf("xdsproxy %v: exit code %d\n%s", args, code, out)
	}
	return out
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decompressed is what zstd -dc prints of a recording, as far as it goes.
func decompressed(t *testing.T, raw []byte) []byte {
	t.Helper()
	dec, err := zstd.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	var plain bytes.Buffer
	_, _ = dec.WriteTo(&plain)
	return plain.Bytes()
}

// A proxy that is made to dump its goroutines, in the middle of traffic that
// carries secrets, prints none, and leaves none in its recording.
func TestSecretsNotInADump(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV} {
		t.Run(signal.String(), func(t *testing.T) {
			seeded := &seeds{}
			upstream := seeded.serve(t)
			p := startProxyWith(t, upstream, setup{env: []string{"GOTRACEBACK=system"}})
			passed := make(chan struct{}, 100)
			for range 4 {
				asks := seeded.asks()
				go func() {
					for asks.converse(t.Context(), p.addr) == nil {
						select {
						case passed <- struct{}{}:
						default:
						}
					}
				}()
			}
			for range 40 {
				select {
				case <-passed:
				case <-p.exited:
					t.Fatalf("the proxy ended: %v", p.err)
				}
			}
			eventually(t, "what passed is recorded", func() bool {
				return bytes.Contains(decompressed(t, contents(t, p.file)), []byte("refused"))
			})
			if err := p.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			<-p.exited
			dump := []byte(p.stderr.String())
			if !bytes.Contains(dump, []byte("goroutine ")) {
				t.Fatalf("this is no dump: %s", dump)
			}
			raw := contents(t, p.file)
			plain := decompressed(t, raw)
			readable(t, "the recording", plain)
			seeded.absent(t, map[string][]byte{"the dump": dump, "the file": raw, "the decompressed file": plain})
		})
	}
}
