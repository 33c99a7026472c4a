package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui"
)

// What the screen exports is what the command exports; nothing is overwritten,
// and nothing goes to the terminal.
func TestScreenExport(t *testing.T) {
	a := &cli{stdin: strings.NewReader(""), stdout: failing{t}, stderr: failing{t}}
	a.config = settings.New()
	a.config.Quiet = true
	demo := demoRecording(t)
	dir := t.TempDir()
	export := a.exporter(demo)
	for _, form := range []string{"xdsp", "md", "html", "mermaid", "csv", "yaml", "jsonl"} {
		path := filepath.Join(dir, "out."+form)
		r := tui.ExportRequest{Form: form, Path: path, Filter: "kind:nack"}
		said, err := export(t.Context(), r)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if !strings.HasPrefix(said, "wrote ") || !strings.Contains(said, "secrets are masked") {
			t.Errorf("%s says %q", form, said)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", form, info, err)
		}
		if _, err := export(t.Context(), r); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("%s a second time: %v", form, err)
		}
	}
	said, err := export(t.Context(), tui.ExportRequest{Form: "csv", Path: filepath.Join(dir, "two.csv"), Seqs: []session.Seq{5, 8}})
	if err != nil || !strings.HasPrefix(said, "wrote 2 entries") {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := recorder.Inspect(filepath.Join(dir, "out.xdsp")); err != nil {
		t.Error(err)
	}
	zip := tui.ExportRequest{Form: "zip", Path: filepath.Join(dir, "out.zip"), Rule: "nack-received"} // the first line is the one in sight
	if said, err := export(t.Context(), zip); err != nil || !strings.HasPrefix(said, "wrote "+zip.Path) {
		t.Errorf("zip says %q, %v", said, err)
	}
}

// Who leaves the screen waits until an export that goes on has removed its file.
func TestScreenExportIsAwaited(t *testing.T) {
	begun, removed := make(chan struct{}), false
	src := tui.Source{Export: func(ctx context.Context, _ tui.ExportRequest) (string, error) {
		close(begun)
		<-ctx.Done()
		time.Sleep(10 * time.Millisecond)
		removed = true
		return "", ctx.Err()
	}}
	exported := awaited(&src)
	ctx, leave := context.WithCancel(t.Context())
	go src.Export(ctx, tui.ExportRequest{})
	<-begun
	leave()
	if exported(); !removed {
		t.Error("nobody waited")
	}
	awaited(&tui.Source{})()
}

// No name of a client or of a resource is in what is exported while names are
// hidden.
func TestPrivateScreenExport(t *testing.T) {
	a := &cli{stdin: strings.NewReader(""), stdout: failing{t}, stderr: failing{t}}
	a.config = settings.New()
	export := a.exporter(demoRecording(t))
	for _, form := range []string{"md", "mermaid", "html"} { // which shorten names, or write their signs in another way
		path := filepath.Join(t.TempDir(), "out")
		_, err := export(t.Context(), tui.ExportRequest{Form: form, Path: path, Private: new(tui.Private)})
		if _, there := os.Lstat(path); err == nil || !strings.Contains(err.Error(), "aliases") || there == nil {
			t.Errorf("%s is written: %v", form, err)
		}
	}
	for _, form := range []string{"csv", "yaml", "jsonl"} {
		path := filepath.Join(t.TempDir(), "out")
		if _, err := export(t.Context(), tui.ExportRequest{Form: form, Path: path, Private: new(tui.Private)}); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"demo-envoy", "demo-delta", "demo-grpc"} {
			if strings.Contains(string(text), name) {
				t.Errorf("%s tells of %s", form, name)
			}
		}
		if !strings.Contains(string(text), "client-1") {
			t.Errorf("%s has no alias", form)
		}
	}
}

// Names are hidden in what rejections say, too, line by line; and nothing is exported where
// a name is written with other signs.
func TestPrivateScreenExportOfReasons(t *testing.T) {
	a := &cli{stdin: strings.NewReader(""), stdout: failing{t}, stderr: failing{t}}
	a.config = settings.New()
	for _, name := range []string{"the-web", "größe|80", "x,<it's>=y", `qq"rr`, `bb\ss`, "nn\nll", "vv\u00a0ww", "two  spaces"} {
		q := strconv.Quote(name)
		reason := strconv.Quote("no such: " + name + "\n" + name + ": bad\t" + name + "\nin " + q)
		dir := t.TempDir()
		path := filepath.Join(dir, "a.xds")
		if err := os.WriteFile(path, []byte("C> type=CDS V= N= R=[] node=gw\nS< type=CDS V=1 N=a res=["+q+"]\nC> type=CDS V= N=a R=[] err="+reason+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"csv", "yaml", "jsonl"} {
			out := filepath.Join(dir, form)
			_, err := a.exporter(path)(t.Context(), tui.ExportRequest{Form: form, Path: out, Private: new(tui.Private)})
			text, unread := os.ReadFile(out)
			if odd := strings.ContainsAny(name, "\"\\\n\u00a0") || strings.Contains(name, "  "); odd {
				if err == nil || !strings.Contains(err.Error(), "cannot hide all names") || unread == nil {
					t.Errorf("%s of %q: %v, and the file: %v", form, name, err, unread)
				}
			} else if err != nil || strings.Contains(string(text), name) || !strings.Contains(string(text), "cluster-1") {
				t.Errorf("%s of %q: %v\n%s", form, name, err, text)
			}
		}
	}
}

// Not even a part of a long name is in what is exported then: of one in a reason that is
// cut, or of one that a client holds.
func TestPrivateScreenExportOfParts(t *testing.T) {
	a := &cli{stdin: strings.NewReader(""), stdout: failing{t}, stderr: failing{t}}
	a.config = settings.New()
	var names []string
	for i, part := range []string{"qzkfwmxtbv", "jgkzpdrwqx", "vbnxzkqjwf", "hjkxqzwvbn", "xwqzjkvfgb"} {
		names = append(names, fmt.Sprintf("outbound|80||%s.%d.%s.svc.cluster.local", strings.Repeat(part, 1+i*7), i, part))
	}
	node := "sidecar~10.8.0.7~ptqkzxwjvn-7d9f4b6c5.kwqzxjvbgh~default.svc.cluster.local"
	all := strings.Join(names, ",")
	dir := t.TempDir()
	path := filepath.Join(dir, "a.xds")
	text := fmt.Sprintf("C> type=CDS V= N= R=[] node=%s\nS< type=CDS V=1 N=a res=[%s]\nC> type=CDS V= N=a R=[] err=\"no %s: bad\"\n", node, all, strings.ReplaceAll(all, ",", ": bad, no ")) +
		fmt.Sprintf("-- held node=%s source=envoy-admin at=127.0.0.1:9901 CDS/error=[%s@1#\"no room\"] CDS/gone=[%s@1]\n", node, names[1], names[4])
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"csv", "yaml", "jsonl"} {
		out := filepath.Join(dir, form)
		_, err := a.exporter(path)(t.Context(), tui.ExportRequest{Form: form, Path: out, Private: new(tui.Private)})
		got, unread := os.ReadFile(out)
		if err != nil || unread != nil || !strings.Contains(string(got), "cluster-5") {
			t.Errorf("%s: %v, %v\n%s", form, err, unread, got)
		}
		for _, name := range append(names, node) {
			for i := range len(name) - 6 {
				if part := name[i : i+6]; strings.ContainsAny(part, "qzx") && strings.Contains(string(got), part) {
					t.Errorf("%s has %q:\n%s", form, part, got)
					break
				}
			}
		}
	}
}

// failing is a stream on which nothing may be written.
type failing struct{ t *testing.T }

func (f failing) Write(b []byte) (int, error) {
	f.t.Errorf("%q goes to the terminal", b)
	return 0, io.ErrClosedPipe
}

// What is kept of a failure of the screen is for its owner alone, and says
// where it was.
func TestCrashIsKept(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	a := &cli{stderr: failing{t}, config: settings.New()}
	err := a.crashed(&tui.Crash{Cause: "index out of range", Stack: []byte("the stack")})
	if err == nil || !strings.Contains(err.Error(), "the screen failed: index out of range; the place of the failure") {
		t.Fatalf("%v", err)
	}
	files, _ := filepath.Glob(filepath.Join(state, "xdsproxy", "crash-*.txt"))
	if len(files) != 1 || !strings.Contains(err.Error(), files[0]) {
		t.Fatalf("%v: %v", files, err)
	}
	info, _ := os.Stat(files[0])
	text, _ := os.ReadFile(files[0])
	if info.Mode().Perm() != 0o600 || !strings.HasPrefix(string(text), build.Line()) || !strings.HasSuffix(string(text), "the stack") {
		t.Errorf("%v: %s", info.Mode(), text)
	}
	if other := io.ErrUnexpectedEOF; a.crashed(other) != other || a.crashed(nil) != nil {
		t.Error("other errors are not passed on")
	}
}
