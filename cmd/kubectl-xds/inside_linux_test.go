package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// settings is an empty frame of SETTINGS.
const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// viewer answers as a proxy in a pod does, and is where: SETTINGS, what it was told
// after the preface, and its end.
func viewer(t *testing.T, first string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, first)
				said, _ := io.ReadAll(c)
				_, _ = c.Write(bytes.TrimPrefix(said, []byte(preface)))
			}()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// pathWith is a PATH with stand-ins of these names, which write to dir.
func pathWith(t *testing.T, names ...string) (dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, dir := t.TempDir(), t.TempDir()
	for _, name := range names {
		if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("STANDIN", dir)
	for _, v := range []string{tokenVariable, tokenVariable + "_FILE", "STANDIN_SECRET", "STANDIN_FORWARD"} {
		t.Setenv(v, "")
	}
	return dir
}

// TestViewing: what xdsproxy is called with, what it gets, and what becomes of its end.
func TestViewing(t *testing.T) {
	pong, token := fmt.Sprintf("%q <nil>\n", settings+"ping"), testToken
	secret := `["get" "secret" "xdsproxy-viewer" "-o" "jsonpath={.data.token}"]`
	for _, c := range []struct {
		args    []string
		env     [2]string
		code    int
		out     string
		errs    string
		kubectl []string // that are called, without that which forwards
	}{
		{args: []string{"watch", "deploy/x", "-o", "json"}, out: `["watch" "-o" "json"], token "` + token + "\"\n" + pong, errs: "typed: q\n", kubectl: []string{secret}},
		{args: []string{"show", "pod/p", "--", "-n", "7"}, code: 7, out: `["show" "-n" "7"], token "` + token + "\"\n" + pong, errs: "typed: q\n", kubectl: []string{secret}},
		{args: []string{"check", "svc/x", "-9"}, code: 137, out: `["check" "-9"], token "` + token + "\"\n" + pong, errs: "typed: q\n", kubectl: []string{secret}},
		{
			args: []string{"tree", "ds/x", "--token-secret=mine", "-n", "shop", "--kubeconfig", "/k", "--context", "c"},
			out:  `["tree"], token "` + token + "\"\n" + pong, errs: "typed: q\n",
			kubectl: []string{`["--kubeconfig" "/k" "--context" "c" "-n" "shop" "get" "secret" "mine" "-o" "jsonpath={.data.token}"]`},
		},
		{args: []string{"info", "deploy/x"}, env: [2]string{tokenVariable, "own"}, out: `["info"], token "own"` + "\n" + pong, errs: "typed: q\n"},
		{args: []string{"info", "deploy/x"}, env: [2]string{tokenVariable + "_FILE", "/t"}, out: `["info"], token ""` + "\n" + pong, errs: "typed: q\n"},
		{args: []string{"info", "deploy/x", "--viewer-token-file", "f"}, out: `["info" "--viewer-token-file" "f"], token ""` + "\n" + pong, errs: "typed: q\n"},
		{args: []string{"info", "deploy/x", "--viewer-token-file=f"}, out: `["info" "--viewer-token-file=f"], token ""` + "\n" + pong, errs: "typed: q\n"},
		{
			args: []string{"watch", "deploy/x"}, env: [2]string{"STANDIN_SECRET", "none"}, code: 1, kubectl: []string{secret},
			errs: "kubectl xds: error: there is no token for the viewer: secret xdsproxy-viewer: Error from server (NotFound): secrets \"xdsproxy-viewer\" not found\n" +
				"kubectl xds: hint: set XDSPROXY_VIEWER_TOKEN, or name the Secret that the proxy has with --token-secret; deploy/README.md says how it is made\n",
		},
		{
			args: []string{"watch", "deploy/x"}, env: [2]string{"STANDIN_SECRET", " "}, code: 1, kubectl: []string{secret},
			errs: "kubectl xds: error: there is no token for the viewer: secret xdsproxy-viewer: it has no key token\n" +
				"kubectl xds: hint: set XDSPROXY_VIEWER_TOKEN, or name the Secret that the proxy has with --token-secret; deploy/README.md says how it is made\n",
		},
		{
			args: []string{"watch", "deploy/x"}, env: [2]string{"STANDIN_SECRET", "!"}, code: 1, kubectl: []string{secret},
			errs: "kubectl xds: error: there is no token for the viewer: secret xdsproxy-viewer: it has no key token\n" +
				"kubectl xds: hint: set XDSPROXY_VIEWER_TOKEN, or name the Secret that the proxy has with --token-secret; deploy/README.md says how it is made\n",
		},
		{args: []string{"watch", "deploy/x"}, env: [2]string{"STANDIN_SECRET", "interrupted"}, code: 143, kubectl: []string{secret}},
		{
			args: []string{"watch", "deploy/x"}, env: [2]string{"STANDIN_FORWARD", "none"}, code: 1, kubectl: []string{secret},
			errs: "kubectl xds: error: kubectl port-forward deployment/x: Error from server (NotFound): deployments.apps \"xdsproxy\" not found?[31m\n",
		},
	} {
		dir := pathWith(t, "kubectl", "xdsproxy")
		if c.env[0] != "" {
			t.Setenv(c.env[0], c.env[1])
		}
		port := viewer(t, settings)
		args := slices.Insert(slices.Clone(c.args), 2, "--port", port)
		in, err := os.CreateTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.WriteString("q"); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		var out, errs strings.Builder
		if code := run(args, in, &out, &errs); code != c.code || out.String() != c.out || errs.String() != c.errs {
			t.Errorf("%q: %d\n%s%s\nnot %d\n%s%s", args, code, out.String(), errs.String(), c.code, c.out, c.errs)
		}
		_ = in.Close()
		var called []string
		for _, k := range calls(t, dir) {
			if !strings.Contains(k.args, "port-forward") {
				called = append(called, k.args)
			} else if !strings.HasSuffix(k.args, `":`+port+`"]`) || !strings.Contains(k.args, `"--address" "127.0.0.1"`) {
				t.Errorf("kubectl is called with %s", k.args)
			}
			if syscall.Kill(k.pid, 0) == nil && !zombie(k.pid) {
				t.Errorf("%q: a kubectl is left", args)
			}
		}
		if !slices.Equal(called, c.kubectl) {
			t.Errorf("%q: kubectl is called with %q", args, called)
		}
	}
}

// What cannot be done is said in one sentence.
func TestWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		has  []string
		args []string
		code int
		says string
	}{
		{nil, []string{"watch", "deploy/x"}, 127, "error: kubectl is not in PATH\nkubectl xds: hint: it forwards the port\n"},
		{[]string{"kubectl"}, []string{"watch", "deploy/x"}, 127, "error: xdsproxy is not in PATH\nkubectl xds: hint: this plugin runs the one of this machine; install it, or put it there\n"},
		{nil, []string{"watch"}, 2, "error: watch takes one KIND/NAME, such as deploy/xdsproxy\nkubectl xds: hint: kubectl xds --help explains it\n"},
		{nil, []string{"watch", "a", "deploy/x"}, 2, "error: watch takes one KIND/NAME, such as deploy/xdsproxy\nkubectl xds: hint: kubectl xds --help explains it\n"},
		{nil, []string{"watch", "deploy/-x;id"}, 2, "error: \"deploy/-x;id\" is not KIND/NAME, such as deploy/xdsproxy\nkubectl xds: hint: kubectl xds --help explains it\n"},
		{nil, []string{"watch", "deploy"}, 2, "error: \"deploy\" is not KIND/NAME, such as deploy/xdsproxy\nkubectl xds: hint: kubectl xds --help explains it\n"},
		{nil, []string{"wach", "deploy/x"}, 2, "error: \"wach\" is no command of this plugin\nkubectl xds: hint: kubectl xds --help explains it\n"},
		{nil, []string{"watch", "--wait"}, 2, "error: --wait needs a value\nkubectl xds: hint: kubectl xds --help explains it\n"},
	} {
		pathWith(t, c.has...)
		var out, errs strings.Builder
		if code := run(c.args, nil, &out, &errs); code != c.code || out.String() != "" || errs.String() != "kubectl xds: "+c.says {
			t.Errorf("%q: %d\n%s%s", c.args, code, out.String(), errs.String())
		}
	}
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help", "--wait"}, {"watch", "deploy/x", "--help"}, {"nothing", "-h"}, nil} {
		var out, errs strings.Builder
		code := run(args, nil, &out, &errs)
		if asked := args != nil; (code == 0) != asked || (out.String() == help) != asked || (errs.String() == help) == asked {
			t.Errorf("%q: %d\n%s%s", args, code, out.String(), errs.String())
		}
	}
}

// Nobody is there, or somebody else: that is said with what kubectl says of it.
func TestNoViewer(t *testing.T) {
	dir := pathWith(t, "kubectl", "xdsproxy")
	t.Setenv(tokenVariable, "own")
	var over sync.WaitGroup
	for port, says := range map[string]string{freePort(t): ": lost connection to pod\n", viewer(t, "HTTP/1.1 400 Bad Request\r\n\r\n"): ": what answers does not speak HTTP/2\n"} {
		over.Go(func() {
			var out, errs strings.Builder
			code := run([]string{"watch", "deploy/x", "--wait", "1s", "--port", port}, nil, &out, &errs)
			want := "kubectl xds: error: no viewer answers on port " + port + " of deployment/x"
			hint := "kubectl xds: hint: is the proxy run with --viewer 127.0.0.1:" + port + "? --port names another\n"
			slow := strings.Contains(errs.String(), "does not begin")
			if code != exitFailed || errs.String() != want+says+hint && !slow || out.String() != "" {
				t.Errorf("%d\n%s%s", code, out.String(), errs.String())
			}
		})
	}
	over.Wait()
	for _, k := range calls(t, dir) {
		if syscall.Kill(k.pid, 0) == nil && !zombie(k.pid) {
			t.Error("a kubectl is left")
		}
	}
}

func forwardTo(t *testing.T, port string) *forward {
	t.Helper()
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	remote, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return &forward{v: &view{o: &options{wait: time.Minute}, to: target{"pod", "p"}, kubectl: kubectl}, remote: remote}
}

// ping is what is answered to a client of the forwarded port.
func ping(t *testing.T, to string) string {
	t.Helper()
	c, err := net.Dial("tcp", to)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_, _ = io.WriteString(c, preface+"ping")
	_ = c.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(c)
	return string(answer)
}

// When kubectl ends, the next one serves who comes then, at the same address; when
// all is over, nothing listens and nothing is left.
func TestForwardGoesOn(t *testing.T) {
	dir := pathWith(t, "kubectl")
	f := forwardTo(t, viewer(t, settings))
	if err := f.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	for range 2 { // two connections at a time
		if got := ping(t, f.local()); got != settings+"ping" {
			t.Errorf("%q", got)
		}
	}
	first := calls(t, dir)
	if len(first) != 1 {
		t.Fatalf("%d kubectl", len(first))
	}
	if err := syscall.Kill(first[0].pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := ping(t, f.local()); got != settings+"ping" {
		t.Errorf("after kubectl ended: %q", got)
	}
	last := calls(t, dir)
	if len(last) != 2 {
		t.Errorf("%d kubectl", len(last))
	}
	f.stop()
	if got := ping(t, f.local()); !strings.Contains(got, "refused") {
		t.Errorf("when it is over: %q", got)
	}
	if pid := last[len(last)-1].pid; syscall.Kill(pid, 0) == nil && !zombie(pid) {
		t.Error("a kubectl is left")
	}
	(&forward{}).stop() // one that was not started
}

// Only what begins with SETTINGS of the whole connection is a proxy.
func TestReach(t *testing.T) {
	pathWith(t, "kubectl")
	for first, is := range map[string]bool{
		settings: true, settings + "more": true, settings[:8]: false, "": false, "HTTP/1.1 400 Bad Request\r\n": false,
		"\x00\x00\x00\x05\x00\x00\x00\x00\x00": false, "\x00\x00\x00\x04\x00\x00\x00\x00\x01": false, "\x00\x00\x06\x04\x01\x00\x00\x00\x00": true,
	} {
		port, err := strconv.Atoi(viewer(t, first))
		if err != nil {
			t.Fatal(err)
		}
		f := &forward{}
		ctx, done := context.WithCancel(t.Context())
		if len(first) < 9 { // nothing more comes: whoever waits has to end
			time.AfterFunc(20*time.Millisecond, done)
		}
		conn, got, err := f.reach(ctx, port, []byte(preface))
		if (err == nil) != is || is && string(got) != first[:len(got)] {
			t.Errorf("%q: %q, %v", first, got, err)
		}
		if err == nil {
			hangUp(conn)
			if _, err := conn.Write([]byte("x")); err == nil {
				t.Errorf("%q: it is open after its end", first)
			}
		}
		done()
	}
}

func TestOptions(t *testing.T) {
	o, err := parse([]string{"-n", "shop", "deploy/web", "--context=a b", "-n", "x", "web", "--kubeconfig", "/k", "--port=65535", "--wait", "1ms", "--", "--port", "1"})
	if err != nil || o.port != 65535 || o.wait != time.Millisecond || !slices.Equal(o.words, []string{"deploy/web"}) || !slices.Equal(o.rest, []string{"web", "--port", "1"}) {
		t.Errorf("%+v, %v", o, err)
	}
	if got := o.kubectl("get", "pod"); !slices.Equal(got, []string{"kubectl", "--kubeconfig", "/k", "--context", "a b", "-n", "x", "get", "pod"}) {
		t.Errorf("%q", got)
	}
	if o, err = parse(nil); err != nil || o.port != 18999 || o.wait != 30*time.Second || o.secret != "xdsproxy-viewer" || len(o.kubectl()) != 1 {
		t.Errorf("%+v, %v", o, err)
	}
	label, name := strings.Repeat("a", 63), strings.Repeat("a", 253)
	for _, c := range []struct{ flag, good, bad, why string }{
		{"--port", "1", "0", `--port "0": this is not a port`},
		{"--port", "18999", "65536", `--port "65536": this is not a port`},
		{"--xds-port", "15010", "x", `--xds-port "x": this is not a port`},
		{"--wait", "1s", "0s", `--wait "0s": this is not a duration such as 30s`},
		{"--wait", "1ns", "-1s", `--wait "-1s": this is not a duration such as 30s`},
		{"--wait", "2m", "5", `--wait "5": this is not a duration such as 30s`},
		{"-n", label, label + "a", `-n "` + label + `a": this is not the name of a namespace`},
		{"--namespace", "a-b", "a.b", `--namespace "a.b": this is not the name of a namespace`},
		{"--token-secret", name, name + "a", `--token-secret "` + name + `a": this is not the name of a Secret`},
		{"--context", "ä b", "a\nb", "--context \"a\\nb\": this is not a printable name"},
		{"--context", name, name + "a", `--context "` + name + `a": this is not a printable name`},
		{"--context", "a", "a\xff", `--context "a\xff": this is not a printable name`},
		{"--proxy", "a.b:1", "a.b", `--proxy "a.b": this is not host:port`},
		{"--proxy", "a:65535", "a:65536", `--proxy "a:65536": this is not a port`},
		{"--upstream", "10.0.0.1:1", "[::1]:1", `--upstream "[::1]:1": this is not host:port`},
		{"--proxy", name[2:] + ":1", name[1:] + ":1", `--proxy "` + name[1:] + `:1": this is not host:port`},
	} {
		if _, err := parse([]string{c.flag, c.good}); err != nil {
			t.Error(err)
		}
		if _, err := parse([]string{c.flag, c.bad}); err == nil || err.Error() != c.why {
			t.Errorf("%v, not %s", err, c.why)
		}
	}
	for s, want := range map[string]string{
		"deploy/x": "deployment/x", "Deployments.apps/x": "deployment/x", "DS/x": "daemonset/x", "gateway.example/a.b-c": "gateway.example/a.b-c", "pod/" + name: "pod/" + name,
		"pod/" + name + "a": "", "pod": "", "pod/": "", "/x": "/x", "pod/a/b": "", "pod/A": "",
	} {
		got, err := parseTarget(s)
		if err != nil && want != "" || err == nil && got.String() != want {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
}

func TestPrintable(t *testing.T) {
	got := printable("a\x1f\x7f\u0080\u009f\u00a0é\u2027\u2028\u2029\u202a\u202e\u202f\u2065\u2066\u2069\u206a\xff~ ")
	if want := "a????\u00a0é\u2027????\u202f\u2065??\u206a?~ "; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// What a shell would make something of is quoted, and nothing else.
func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"": "''", "a/z.A_Z-0+9:@%,=": "a/z.A_Z-0+9:@%,=", "`": "'`'", "{": "'{'", "[": "'['", "é": "'é'", ";": "';'", "it's": `'it'\''s'`, "a b": "'a b'", "$x": "'$x'", "b": "b", "0": "0", "Q": "Q",
	} {
		if got := quote(word); got != want {
			t.Errorf("%q: %s, not %s", word, got, want)
		}
	}
}

func TestTail(t *testing.T) {
	long := &tail{}
	for i := range maxTail + 1 {
		if n, err := long.Write([]byte{'a' + byte(i%26)}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if i == maxTail-1 && !strings.HasPrefix(long.String(), "ab") {
			t.Error("it forgets too soon")
		}
	}
	if got := long.String(); len(got) != maxTail || got[0] != 'b' {
		t.Errorf("%d bytes, from %.5s on", len(got), got)
	}
	for said, want := range map[string]string{"": "EOF", " \n": "EOF", "one\nerror: two \n\n": "two", "one": "one"} {
		l := &tail{[]byte(said)}
		if got := l.or(io.EOF); got != want {
			t.Errorf("%q: %s", said, got)
		}
	}
	if got := (&tail{}).or(nil); got != "it said nothing" {
		t.Error(got)
	}
	if code(nil, io.EOF) != exitFailed {
		t.Error("a command that was not started is one that worked")
	}
}
