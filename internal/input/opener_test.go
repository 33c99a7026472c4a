package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const demo = "../../check/testdata/sessions/demo.xdsp"

// opening is an opener, and what it says.
func opening(t *testing.T, stdin io.Reader) (*Opener, *strings.Builder) {
	t.Helper()
	for _, v := range []string{"XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		t.Setenv(v, t.TempDir())
	}
	said := &strings.Builder{}
	return &Opener{Console: &console.Console{Ctx: t.Context(), Stdin: stdin, Stdout: io.Discard, Stderr: said}, Token: func() (string, error) { return "", nil }}, said
}

func count(t *testing.T, src *Source) (n int) {
	t.Helper()
	if err := Each(t.Context(), src, check.NewTracker(nil), func(*session.Entry, *check.Change) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// A SOURCE is a recording, a script, a file of resources, or what comes through a
// pipe, and each is read to its end.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	script, files := filepath.Join(dir, "a.xds"), filepath.Join(dir, "cds.yaml")
	for path, text := range map[string]string{
		script: "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\n",
		files:  "version_info: '1'\nresources:\n- '@type': type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: c1\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, stdin  string
		file, script bool
		entries      int
	}{
		{name: demo, file: true, entries: 116},
		{name: script, script: true, entries: 5},
		{name: files, script: true, entries: 3},
		{name: "-", stdin: string(whole), entries: 116},
		{name: "-", stdin: "# a script\nC> type=CDS V= N= R=[]\n", script: true, entries: 3},
	} {
		o, said := opening(t, strings.NewReader(c.stdin))
		src, err := o.Open(c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if n := count(t, src); src.File != c.file || src.Script != c.script || src.Name != c.name || said.Len() > 0 || (src.Line != nil) != (c.script && c.name != files) {
			t.Errorf("%s: file %t, script %t, %d entries, %s", c.name, src.File, src.Script, n, said)
		} else if n != c.entries {
			t.Errorf("%s: %d entries", c.name, n)
		}
		if src.Began().IsZero() != !c.file || src.Header().Created.IsZero() {
			t.Errorf("%s: it began at %s", c.name, src.Began())
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What is not there, or is none, says so, and what it may be.
func TestOpenNot(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"bad.xds": "C> type=CDS what=7\n", "text.xdsp": "hello, this is no recording", "bad.yaml": "resources: [\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"none.xdsp": "@last is the newest recording", "none.xds": "@last is the newest recording", "none.yaml": "@last is the newest recording",
		"bad.xds": "", "text.xdsp": "recordings are files that xdsproxy run", "bad.yaml": "such a file is a DiscoveryResponse",
	} {
		o, _ := opening(t, nil)
		src, err := o.Open(filepath.Join(dir, name))
		if err == nil {
			_, err = src.Next(t.Context())
			err = Unreadable(err)
		}
		f, _ := errors.AsType[*console.Failure](err)
		if f == nil || f.Code != console.ExitFailed || len(f.Hints) == 0 || !slices.ContainsFunc(f.Hints, func(h string) bool { return strings.Contains(h, want) }) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for _, name := range []string{"", Last} {
		o, said := opening(t, nil)
		_, err := o.Open(name)
		f, _ := errors.AsType[*console.Failure](err)
		if f == nil || f.Error() != "there is no recording yet" || len(f.Hints) != 2 || said.Len() > 0 {
			t.Errorf("%q: %+v, %s", name, f, said)
		}
	}
	if _, err := Path("127.0.0.1:80"); err == nil {
		t.Error("a proxy is a file")
	}
	if path, err := Path("x"); path != "x" || err != nil {
		t.Errorf("%s, %v", path, err)
	}
}

// Without a name it is the newest recording, which is said.
func TestOpenLast(t *testing.T) {
	o, said := opening(t, nil)
	path, err := filepath.Abs(demo)
	if err != nil {
		t.Fatal(err)
	}
	state, err := recorder.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(state, 0o700), os.Symlink(path, filepath.Join(state, "last"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", Last} {
		src, err := o.Open(name)
		if err != nil || src.Name != path {
			t.Fatalf("%+v, %v", src, err)
		}
		src.Close()
		if want := map[string]string{"": "reading " + path + " (@last)\n", Last: ""}[name]; said.String() != want {
			t.Errorf("%q says %q", name, said)
		}
		said.Reset()
	}
}

func TestViewerAddr(t *testing.T) {
	here := filepath.Join(t.TempDir(), "a:80")
	if err := os.WriteFile(here, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"127.0.0.1:19000": "tcp 127.0.0.1:19000", "[::1]:1": "tcp [::1]:1", "host:0": "tcp host:0", "unix:/a/b": "unix /a/b", "unix:@a": "unix @a",
		"host:65536": "", "host:x": "", "host:-1": "", "host": "", "a.xdsp": "", "unix:": "", here: "",
	} {
		addr, is := ViewerAddr(name)
		if got := strings.TrimSpace(addr.Network + " " + addr.Address); is != (want != "") || is && got != want {
			t.Errorf("%s is %s, %t", name, got, is)
		}
	}
}

func TestOneClient(t *testing.T) {
	of := func(names ...string) (out []engine.ClientStatus) {
		for _, n := range names {
			out = append(out, engine.ClientStatus{Client: n})
		}
		return out
	}
	many := strings.Fields("a1 a2 a3 a4 a5 a6 a7 a8 a9")
	for _, c := range []struct {
		all               []engine.ClientStatus
		asked, want, hint string
		code              int
	}{
		{of("gw-0"), "", "gw-0", "", 0},
		{of("gw-0", "gw-01"), "gw-0", "gw-0", "", 0},
		{of("gw-0", "web"), "we", "web", "", 0},
		{nil, "x", "no client has asked for anything", "", console.ExitFailed},
		{of("gw-0", "web"), "x", `there is no client "x"`, "the clients are gw-0, web", console.ExitFailed},
		{of("gw-0", "web"), "", "there are 2 clients: which one?", "the clients are gw-0, web", console.ExitUsage},
		{of(many...), "", "there are 9 clients: which one?", "the clients are a1, a2, a3, a4, a5, a6, a7, a8, …", console.ExitUsage},
		{of(many[:8]...), "", "there are 8 clients: which one?", "the clients are a1, a2, a3, a4, a5, a6, a7, a8", console.ExitUsage},
		{of(many...), "a", `"a" fits 9 clients`, "they are a1, a2, a3, a4, a5, a6, a7, a8", console.ExitUsage},
	} {
		id, err := OneClient(c.all, c.asked)
		f, _ := errors.AsType[*console.Failure](err)
		if c.code == 0 && (id != c.want || err != nil) || c.code != 0 && (f == nil || f.Error() != c.want || f.Code != c.code || strings.Join(f.Hints, "|") != c.hint) {
			t.Errorf("%q of %d: %q, %+v", c.asked, len(c.all), id, f)
		}
	}
}

// An error of reading has its exit code, and what may help.
func TestUnreadable(t *testing.T) {
	for _, c := range []struct {
		err   error
		code  int
		hints []string
	}{
		{errors.New("x"), 1, nil},
		{fmt.Errorf("it: %w", &recorder.DamageError{}), 12, nil},
		{&recorder.DamageError{AfterSeq: 7, Path: "a b.xdsp"}, 12, []string{"entries up to 7 are readable", "write a clean copy with: xdsproxy export 'a b.xdsp' --repair -w 'a b-fixed.xdsp'"}},
		{&recorder.VersionError{}, 13, []string{"read it with the version of xdsproxy that wrote it, or a newer one"}},
		{&recorder.FormatError{}, 1, []string{"recordings are files that xdsproxy run or xdsproxy demo wrote; xdsproxy import makes one of a capture, a log or a dump"}},
		{&recorder.FormatError{Damaged: true, Path: "a.xdsp"}, 1, []string{"it looks like a recording whose header is damaged; rescue its entries with: xdsproxy export a.xdsp --repair -w a-fixed.xdsp"}},
		{fs.ErrNotExist, 1, []string{"@last is the newest recording; xdsproxy config says where recordings are kept"}},
		{&serve.Error{Kind: serve.TooMany}, 1, []string{"end another xdsproxy that reads from it"}},
		{&serve.Error{Kind: serve.NoViewer}, 1, []string{"the address of --viewer is wanted, not one of --listen or --upstream"}},
		{&serve.Error{Kind: serve.TokenMissing}, 1, []string{"the proxy printed it when it started; set XDSPROXY_VIEWER_TOKEN, or name a file with --viewer-token-file"}},
		{&serve.Error{Kind: serve.TokenWrong}, 1, []string{"the proxy printed it when it started; set XDSPROXY_VIEWER_TOKEN, or name a file with --viewer-token-file"}},
		{&serve.Error{Kind: serve.OtherRecording}, 1, []string{"run the command again to read the new one"}},
		{&serve.Error{Kind: serve.Lost}, 1, []string{"what it recorded can still be read: xdsproxy watch @last"}},
		{&serve.Error{Kind: serve.Refused}, 1, nil},
		{&serve.Error{Kind: serve.Unreachable, Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, 1, []string{"nobody listens there: is the proxy running, with this --viewer?", "without a SOURCE, xdsproxy watch finds the running proxy of this user"}},
		{&serve.Error{Kind: serve.Unreachable, Err: fs.ErrPermission}, 1, []string{"only the user who runs the proxy can use its socket", "without a SOURCE, xdsproxy watch finds the running proxy of this user"}},
	} {
		f, _ := errors.AsType[*console.Failure](Unreadable(c.err))
		if f == nil || f.Code != c.code || !slices.Equal(f.Hints, c.hints) || !errors.Is(f, c.err) {
			t.Errorf("%#v: %+v", c.err, f)
		}
	}
	for _, err := range []error{context.Canceled, console.ErrClosedPipe} {
		if got := Unreadable(err); got != err {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	if !Damaged(fmt.Errorf("x: %w", &recorder.DamageError{})) || Damaged(io.EOF) {
		t.Error("damage is not told from the rest")
	}
}

// A query that finds nothing says what there is.
func TestNothing(t *testing.T) {
	o, _ := opening(t, nil)
	src, err := o.Open(demo)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	q, err := ParseQuery("client:nobody")
	if err != nil {
		t.Fatal(err)
	}
	facts := src.All()
	want := fmt.Sprintf("nothing in %q matches %q: it ends with entry %d and covers %s to %s", demo, "client:nobody", facts.LastSeq, facts.First.UTC().Format(time.RFC3339), facts.Last.UTC().Format(time.RFC3339))
	if got := Nothing(src, q); got != want || facts.LastSeq < 100 {
		t.Errorf("%s", got)
	}
	empty := filepath.Join(t.TempDir(), "a.xds")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none, err := o.Open(empty)
	if err != nil {
		t.Fatal(err)
	}
	if got := Nothing(none, q); !strings.HasSuffix(got, "is empty") {
		t.Error(got)
	}
	_, err = ParseQuery("kind:")
	if f, _ := errors.AsType[*console.Failure](err); f == nil || f.Code != console.ExitUsage || len(f.Hints) == 0 || f.Hints[len(f.Hints)-1] != "xdsproxy help filters explains the language" {
		t.Errorf("%+v", f)
	}
}

// What a filter asks of the end, or of marks, a file can tell, and a pipe
// cannot.
func TestPipeTellsNoEnd(t *testing.T) {
	whole, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.xds")
	if err := os.WriteFile(path, []byte("C> type=CDS V= N= R=[]\nt=+60s S< type=CDS V=1 N=a res=[c1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, filter, want string }{
		{demo, "since:5m", ""},
		{"-", "since:5m", "counts from the end of the recording, which a pipe does not tell"},
		{demo, "marked:yes", ""},
		{path, "marked:yes", ""},
		{"-", "marked:yes", "asks what was marked, which a pipe tells after the entry"},
		{"-", "kind:nack", ""},
	} {
		o, _ := opening(t, strings.NewReader(string(whole)))
		src, err := o.Open(c.name)
		if err != nil {
			t.Fatal(err)
		}
		src.Follow(false)
		q, err := ParseQuery(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		err = q.In(t.Context(), src, []filter.Span{{First: 1, Last: filter.NoLimit}}, func(*session.Entry, *check.Change, bool) error { return nil })
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v", c.filter, c.name, err)
		}
		src.Close()
	}
}

// Where nothing tells whether a recording is still being written, one that may be is
// not followed, and that is said; of one that is complete nothing is to be said.
func TestUnfollowed(t *testing.T) {
	whole, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	growing := filepath.Join(t.TempDir(), "growing.xdsp")
	if err := os.WriteFile(growing, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		can, wants bool
	}{{growing, false, true}, {growing, true, false}, {demo, false, false}, {"-", false, false}} {
		o, _ := opening(t, strings.NewReader(string(whole)))
		src, err := o.Open(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if src.unfollowed(c.can) != c.wants {
			t.Errorf("%s, where it can be told: %t", c.name, c.can)
		}
		src.Close()
	}
}
