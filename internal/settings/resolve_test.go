package settings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
)

// resolved are the settings of run with some flags, variables and a file.
func resolved(t *testing.T, env map[string]string, file string, args ...string) (*Settings, error) {
	t.Helper()
	for _, v := range []string{"XDG_CONFIG_HOME", "HOME"} {
		t.Setenv(v, t.TempDir())
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	ss := New()
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	for _, s := range ss.Table {
		s.AddTo(flags)
	}
	if file != "" {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := flags.Parse(args); err != nil {
		return ss, err
	}
	return ss, ss.Resolve(&console.Console{Ctx: t.Context(), Stderr: io.Discard}, flags)
}

// A flag counts before the environment, that before the file, and that before what
// the program has by itself.
func TestWhichCounts(t *testing.T) {
	env, file := map[string]string{"XDSPROXY_DIAL_TIMEOUT": "2s"}, "dial-timeout: 3s\n"
	for _, c := range []struct {
		env    map[string]string
		file   string
		args   []string
		want   time.Duration
		origin Origin
	}{
		{env, file, []string{"--dial-timeout", "1s"}, time.Second, fromFlag},
		{env, file, nil, 2 * time.Second, fromEnvironment},
		{map[string]string{"XDSPROXY_DIAL_TIMEOUT": ""}, file, nil, 3 * time.Second, fromFile},
		{map[string]string{"XDSPROXY_DIAL_TIMEOUT": ""}, "", nil, time.Duration(New().DialTimeout), fromDefault},
	} {
		ss, err := resolved(t, c.env, c.file, c.args...)
		s := findSetting(ss.Table, "dial-timeout")
		if err != nil || time.Duration(ss.DialTimeout) != c.want || s.Origin != c.origin {
			t.Errorf("%v %q %q: %s of %s, %v", c.env, c.file, c.args, s.Value, s.Origin, err)
		}
	}
}

// What is wrong is named as whoever wrote it knows it.
func TestResolveNot(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		file string
		want string
	}{
		{map[string]string{"XDSPROXY_DIAL_TIMEOUT": "soon"}, "", "XDSPROXY_DIAL_TIMEOUT: "},
		{map[string]string{"XDSPROXY_KEEP_SECRETS": "perhaps"}, "", "XDSPROXY_KEEP_SECRETS: "},
		{nil, "dial-timeout: soon\n", "dial-timeout"},
		{nil, "dail-timeout: 1s\n", "dail-timeout"},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, err := resolved(t, c.env, c.file)
			f, _ := errors.AsType[*console.Failure](err)
			if f == nil || f.Code != console.ExitUsage || !strings.Contains(f.Error(), c.want) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A variable that looks like ours is named, with what it may mean.
func TestUnknownVariables(t *testing.T) {
	t.Setenv("XDSPROXY_DAIL_TIMEOUT", "1s")
	t.Setenv("XDSPROXY_SOMETHING_QUITE_DIFFERENT", "1")
	t.Setenv("XDSPROXY_PAGER", "less")
	t.Setenv("XDSPROXY_VIEWER_TOKEN", "x")
	ss := New()
	var said strings.Builder
	ss.warnUnknownVariables(&console.Console{Stderr: &said})
	for _, want := range []string{
		"XDSPROXY_DAIL_TIMEOUT in the environment is not a setting; did you mean XDSPROXY_DIAL_TIMEOUT?\n",
		"XDSPROXY_SOMETHING_QUITE_DIFFERENT in the environment is not a setting\n",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it says\n%s", said.String())
		}
	}
	if strings.Contains(said.String(), "PAGER") || strings.Contains(said.String(), "TOKEN") {
		t.Errorf("it says\n%s", said.String())
	}
}

// Which pairs are asked for, and how each leg is encrypted.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		file string
		args string
		want string // the pairs, or the beginning of what is wrong
	}{
		{"", "--upstream 10.0.0.5:1", "127.0.0.1:18000>10.0.0.5:1"},
		{"", "--upstream 10.0.0.5:1 --upstream unix:/b --listen :1 --listen unix:/a", ":1>10.0.0.5:1 unix:/a>unix:/b"},
		{"", "--listen :0 --listen :0 --upstream a:1 --upstream a:1", ":0>a:1 :0>a:1"},
		{"", "", "no --upstream: where does the control plane listen?"},
		{"", "--upstream a:1 --upstream b:1", "2 upstreams but 1 address to listen on"},
		{"", "--upstream a:1 --listen a:1", "--listen and --upstream are both a:1"},
		{"", "--upstream a:1 --listen :1 --upstream b:1 --listen :1", "two listeners on :1"},
		{"", "--upstream a:1 --upstream-tls", "127.0.0.1:18000>tls a:1"},
		{"", "--upstream a:1 --upstream-ca ca.pem", "127.0.0.1:18000>tls a:1"},
		{"", "--upstream a:1 --upstream-ca ca.pem --upstream-tls=false", "--upstream-tls is off, and --upstream-ca asks for it"},
		{"", "--upstream a:1 --upstream-cert c.pem", "--upstream-cert without --upstream-key"},
		{"", "--upstream a:1 --upstream-key k.pem", "--upstream-key without --upstream-cert"},
		{"", "--upstream unix:/a --upstream-tls", "TLS with unix:/a, which has no host"},
		{"", "--upstream unix:/a --upstream-server-name x", "127.0.0.1:18000>tls unix:/a"},
		{"", "--upstream a:1 --tls-cert c.pem --tls-key k.pem", "tls 127.0.0.1:18000>a:1"},
		{"", "--upstream a:1 --tls-ca-dir d", "tls 127.0.0.1:18000>a:1"},
		{"", "--upstream a:1 --tls-cert c.pem", "--tls-cert without --tls-key"},
		{"", "--upstream a:1 --tls-cert c.pem --tls-key k.pem --tls-ca-dir d", "--tls-cert and --tls-ca-dir: clients can be shown one or the other"},
		{"", "--upstream a:1 --tls-client-ca ca.pem", "--tls-client-ca without TLS towards clients"},
		{"", "--upstream a:1 --tls-ca-dir d --tls-client-ca ca.pem --tls-client-auth none", "--tls-client-auth none and --tls-client-ca"},
		{"tls-ca-dir: d\n", "--upstream a:1 --tls-cert c.pem --tls-key k.pem", "tls 127.0.0.1:18000>a:1"},
		{"tls-cert: c.pem\ntls-key: k.pem\n", "--upstream a:1 --tls-ca-dir d", "tls 127.0.0.1:18000>a:1"},
		{"upstream-tls: false\n", "--upstream a:1 --upstream-ca ca.pem", "127.0.0.1:18000>tls a:1"},
		{"upstream-ca: ca.pem\n", "--upstream a:1 --upstream-tls=false", "127.0.0.1:18000>a:1"},
		{"listeners:\n- {listen: ':1', upstream: 'a:1'}\n- {listen: ':2', upstream: 'b:1', upstream-tls: true}\n", "", ":1>a:1 :2>tls b:1"},
		{"listeners:\n- {listen: ':1'}\n", "", "configuration file "},
		{"listeners:\n- {listen: ':1', upstream: 'a:1'}\n- {listen: ':1', upstream: 'b:1'}\n", "", "two listeners on :1"},
		{"listeners:\n- {listen: ':1', upstream: 'a:1'}\n", "--upstream-tls", ":1>tls a:1"},
	} {
		ss, err := resolved(t, nil, c.file, strings.Fields(c.args)...)
		var got []string
		if err == nil {
			pairs, wrong := ss.Pairs(&console.Console{Stderr: &strings.Builder{}})
			err = wrong
			for _, p := range pairs {
				text := fmt.Sprintf("%s>", p.Listen)
				if p.ListenTLS != nil {
					text = "tls " + text
				}
				if p.UpstreamTLS != nil {
					text += "tls "
				}
				got = append(got, text+p.Upstream.String())
			}
		}
		if err != nil {
			if f, _ := errors.AsType[*console.Failure](err); f == nil || f.Code != console.ExitUsage {
				t.Errorf("%q %s: %+v", c.file, c.args, err)
			}
			got = []string{err.Error()}
		}
		if text := strings.Join(got, " "); text != c.want && (err == nil || !strings.HasPrefix(text, c.want)) {
			t.Errorf("%q %s: %s, not %s", c.file, c.args, text, c.want)
		}
		if len(ss.Listeners) > 0 || strings.Contains(c.args, "--upstream ") {
			if wrong := ss.Check(&console.Console{Stderr: &strings.Builder{}}); (wrong == nil) != (err == nil) {
				t.Errorf("%q %s: of what run says (%v), check says %v", c.file, c.args, err, wrong)
			}
		}
	}
}

func TestDumpsAreAsked(t *testing.T) {
	for args, want := range map[string]string{
		"":                "nothing",
		"--dump-every 1m": "--dump-every without --dump-on",
		"--dump-on error": "1 5m0s 10m0s 1073741824 false",
		"--dump-on error --dump-on kind:nack --dump-before 1s --dump-every 2s --dump-max-size none --dump-format report": "2 1s 2s 0 true",
		"--dump-on error --dump-max-size 65535B": "--dump-max-size 65535B has no room for a dump",
		"--dump-on error --dump-max-size 64KiB":  "1 5m0s 10m0s 65536 false",
		"--dump-on error --no-check":             "--dump-on error with --no-check",
		"--dump-on kind:nack --no-check":         "1 5m0s 10m0s 1073741824 false",
	} {
		ss, err := resolved(t, nil, "", strings.Fields(args)...)
		got := "nothing"
		if err == nil {
			d, wrong := ss.Dumps()
			if err = wrong; d != nil {
				got = fmt.Sprintf("%d %s %s %d %t", len(d.On), d.Before, d.Every, d.Most, d.Report)
			}
		}
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%q: %s, not %s", args, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	var v viewerAddr
	var l LocalAddr
	for _, c := range []struct{ text, viewer, local string }{
		{"on", "on", "!"},
		{"YES", "on", "!"},
		{"off", "off", "off"},
		{"no", "off", "off"},
		{"false", "off", "off"},
		{"", "!", "off"},
		{"127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1"},
		{":9901", ":9901", "127.0.0.1:9901"},
		{"unix:/a", "unix:/a", "unix:/a"},
		{"unix:@a", "!", "unix:@a"},
		{"nonsense", "!", "!"},
	} {
		try := func(set func(string) error, value fmt.Stringer) string {
			if set(c.text) != nil {
				return "!"
			}
			return value.String()
		}
		if got := try(v.Set, &v); got != c.viewer {
			t.Errorf("a viewer at %q is %s", c.text, got)
		}
		if got := try(l.Set, &l); got != c.local {
			t.Errorf("%q is %s", c.text, got)
		}
	}
}

// A token is one word, from a file before the environment, and in no error.
func TestViewerToken(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good": " secret-1\n", "two": "secret 2", "none": "", "long": strings.Repeat("x", maxToken), "just": strings.Repeat("x", maxToken-1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ file, env, want, wrong string }{
		{"", "", "", ""},
		{"", "secret-0", "secret-0", ""},
		{"good", "secret-0", "secret-1", ""},
		{"", "sécret", "", "the token in XDSPROXY_VIEWER_TOKEN is none"},
		{"two", "", "", "is none"},
		{"none", "", "", "cannot read the token of"},
		{"absent", "", "", "cannot read the token"},
		{"long", "", "", "is none"},
		{"just", "", strings.Repeat("x", maxToken-1), ""},
	} {
		t.Setenv("XDSPROXY_VIEWER_TOKEN", c.env)
		ss := New()
		if c.file != "" {
			ss.ViewerTokenFile = filepath.Join(dir, c.file)
		}
		got, err := ss.ViewerToken()
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && (!strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "secret 2")) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// How much is remembered, and what is looked at, for each who reads.
func TestJudging(t *testing.T) {
	ss, err := resolved(t, nil, "", "--memory-past", "3MiB")
	if err != nil {
		t.Fatal(err)
	}
	ss.Static = []string{"c1"}
	j, a, f := ss.Judging(), ss.Accounting(), ss.Following()
	for _, o := range []check.Options{j, a, f} {
		if o.Past != 3<<20 || len(o.Static) != 1 {
			t.Errorf("%+v", o)
		}
	}
	if j.Rules != nil || a.Rules == nil || len(a.Rules) != 0 || f.Rules == nil || j.Names || a.Names || !f.Names {
		t.Errorf("%+v %+v %+v", j, a, f)
	}
	if ss, err = resolved(t, nil, "", "--memory-past", "0B"); err != nil || ss.Judging().Past != -1 {
		t.Errorf("%d, %v", ss.Judging().Past, err)
	}
}

// Of each kind of value, what is taken and how it is shown.
func TestValues(t *testing.T) {
	var b Bool
	var n Count
	var text string
	words := "a"
	c := NewChoice(&words, "a", "b", "c")
	for _, v := range []struct {
		set   interface{ Set(string) error }
		show  fmt.Stringer
		kind  string
		pairs string // text=shown
	}{
		{&b, &b, "bool", "true=true no=false 1=true OFF=false yes=true 0=false on=true False=false maybe=!"},
		{&n, &n, "N", "0=0 7=7 2147483647=2147483647 2147483648=! -1=! x=!"},
		{c, c, "a|b|c", "b=b c=c a=a d=! B=!"},
		{NewText(&text, "NAME"), NewText(&text, "NAME"), "NAME", "x=x"},
	} {
		for _, pair := range strings.Fields(v.pairs) {
			in, want, _ := strings.Cut(pair, "=")
			got := "!"
			if v.set.Set(in) == nil {
				got = v.show.String()
			}
			if got != want {
				t.Errorf("%s: %s is %s, not %s", v.kind, in, got, want)
			}
		}
		if got := v.set.(interface{ Type() string }).Type(); got != v.kind {
			t.Errorf("%s is of type %s", v.kind, got)
		}
	}
	if err := c.Set("x"); err == nil || err.Error() != "not one of a, b and c" {
		t.Error(err)
	}
}

// A text of a file is taken, or it is said what run would refuse.
func TestWouldTake(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "upstream: a:1\n": "", "upstream: a:1\ntls-cert: c.pem\n": "tls-cert", "no-such: 1\n": "no-such", "tls-cert: c.pem\n": "tls-cert", "upstream: [\n": "",
	} {
		err := WouldTake([]byte(text), "c.yaml")
		if (err == nil) != (want == "" && text != "upstream: [\n") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
