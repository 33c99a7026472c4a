package settings

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// asked is everything that the program asks of its settings, in words.
func asked(ss *Settings, con *console.Console) string {
	var b strings.Builder
	say := func(what string, v any, err error) {
		if err == nil {
			fmt.Fprintf(&b, "  %s: %+v\n", what, v)
			return
		}
		fmt.Fprintf(&b, "  %s: error: %v\n", what, err)
		if f, is := errors.AsType[*console.Failure](err); is && len(f.Hints) > 0 {
			fmt.Fprintf(&b, "    hints: %s\n", strings.Join(f.Hints, "; "))
		}
	}
	if err := ss.Check(con); err != nil {
		say("check", nil, err)
	}
	pairs, err := ss.Pairs(con)
	for _, p := range pairs {
		say("pair", side(&p), nil)
	}
	if err != nil {
		say("pairs", nil, err)
	}
	for _, clients := range []bool{true, false} {
		p, err := ss.OneSide(clients, proxy.Addr{Network: "tcp", Address: "h:1"})
		if s := side(&p); err != nil || strings.Contains(s, ",") {
			say(fmt.Sprintf("one side, of clients: %t", clients), s, err)
		}
	}
	if a, err := ss.Archive(); a != nil || err != nil {
		say("archive", fmt.Sprintf("%+v, segments of %d bytes, %v", *orZero(a), ss.MaxSize, time.Duration(ss.MaxAge)), err)
	}
	if d, err := ss.Dumps(); d != nil || err != nil {
		d = orZero(d)
		say("dumps", fmt.Sprintf("%d causes to %s, %v before, every %v, at most %d, report %t", len(d.On), d.Dir, d.Before, d.Every, d.Most, d.Report), err)
	}
	if h, err := ss.Held(); h != nil || err != nil {
		h = orZero(h)
		say("held", fmt.Sprintf("%v every %v, files %t", h.Places, h.Interval, h.Files), err)
	}
	if dirs, from := ss.Files(); len(dirs) > 0 || from != "" {
		say("files", fmt.Sprint(dirs, from), nil)
	}
	if t, err := ss.ViewerToken(); t != "" || err != nil {
		say("token", t, err)
	}
	var keys []string
	for _, k := range KeyLogsOf(pairs) {
		keys = append(keys, k.Path)
	}
	if len(keys) > 0 {
		say("key logs", keys, nil)
	}
	return b.String()
}

func orZero[T any](v *T) *T {
	if v == nil {
		return new(T)
	}
	return v
}

// side is a pair in words.
func side(p *proxy.Pair) string {
	s := fmt.Sprintf("%v to %v", p.Listen, p.Upstream)
	if l := p.ListenTLS; l != nil {
		s += fmt.Sprintf(", tls(%s %s %s %s %v)", l.Cert, l.Key, l.ClientCA, l.CADir, l.ClientAuth)
	}
	if u := p.UpstreamTLS; u != nil {
		s += fmt.Sprintf(", upstream tls(%s %s %s %s, insecure %t)", u.CA, u.Cert, u.Key, u.ServerName, u.Insecure)
	}
	if r := p.Rewrite; r != nil {
		for _, h := range r.Headers {
			s += fmt.Sprintf(", %s from %q", h.Name, h.File)
		}
	}
	return s
}

// What counts when nobody says anything.
func TestDefaults(t *testing.T) {
	ss, err := resolved(t, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, s := range ss.Table {
		fmt.Fprintf(&got, "%s = %s\n", s.Name, s.Value)
	}
	golden.Is(t, "testdata/defaults.txt", got.String())
}

// Each setting by itself, and those that bear on each other: what the program makes of them, or
// what is wrong with them, and where that was said.
func TestWhatIsMadeOfSettings(t *testing.T) {
	var got bytes.Buffer
	for _, c := range []struct {
		args string
		file string
		env  map[string]string
	}{
		{},
		{args: "--listen :18000 --upstream h:1"},
		{args: "--listen :18000"},
		{args: "--upstream h:1"},
		{args: "--listen :18000 --upstream h:1 --listen unix:/s --upstream unix:/u"},
		{args: "--listen :18000 --listen :18001 --upstream h:1"},
		{args: "--listen nonsense --upstream h:1"},
		{args: "--listen :18000 --upstream h:1 --tls-cert c.pem"},
		{args: "--listen :18000 --upstream h:1 --tls-cert c.pem --tls-key k.pem"},
		{args: "--listen :18000 --upstream h:1 --tls-cert c.pem --tls-key k.pem --tls-client-ca a.pem"},
		{args: "--listen :18000 --upstream h:1 --tls-cert c.pem --tls-key k.pem --tls-ca-dir d"},
		{args: "--listen :18000 --upstream h:1 --tls-ca-dir d"},
		{args: "--listen :18000 --upstream h:1 --tls-client-ca a.pem"},
		{args: "--listen :18000 --upstream h:1 --tls-client-auth require"},
		{args: "--listen :18000 --upstream h:1 --tls-cert c.pem --tls-key k.pem --tls-client-ca a.pem --tls-client-auth none"},
		{args: "--listen :18000 --upstream h:1 --tls-cert c.pem --tls-key k.pem --tls-client-ca a.pem --tls-client-auth request"},
		{args: "--tls-client-auth none --listen :18000 --upstream h:1 --tls-ca-dir d", env: map[string]string{"XDSPROXY_TLS_CLIENT_CA": "a.pem"}},
		{args: "--tls-client-ca a.pem --listen :18000 --upstream h:1 --tls-ca-dir d", env: map[string]string{"XDSPROXY_TLS_CLIENT_AUTH": "none"}},
		{args: "--listen :18000 --upstream h:1 --tls-ca-dir d", env: map[string]string{"XDSPROXY_TLS_CERT": "c.pem", "XDSPROXY_TLS_KEY": "k.pem"}},
		{args: "--listen :18000 --upstream h:1 --tls-cert c.pem --tls-key k.pem", env: map[string]string{"XDSPROXY_TLS_CA_DIR": "d"}},
		{args: "--listen :18000 --upstream h:1 --tls-cert c.pem --tls-key k.pem", file: "tls-ca-dir: d\n"},
		{args: "--listen :18000 --upstream h:1 --tls-key k.pem"},
		{args: "--listen :18000 --upstream h:1 --upstream-tls"},
		{args: "--listen :18000 --upstream unix:/u --upstream-tls"},
		{args: "--listen :18000 --upstream unix:/u --upstream-tls --upstream-server-name n"},
		{args: "--listen :18000 --upstream unix:/u --upstream-insecure-skip-verify"},
		{args: "--listen h:1 --upstream h:1"},
		{args: "--listen :0 --upstream h:1 --listen :0 --upstream h:2"},
		{args: "--listen :7 --upstream h:1 --listen :7 --upstream h:2"},
		{args: "--listen unix:/s:0 --upstream h:1 --listen unix:/s:0 --upstream h:2"},
		{args: "--listen :18000 --upstream original-dst"},
		{args: "--listen :18000 --upstream nonsense"},
		{args: "--listen :18000 --upstream h:1 --tls-cert c.pem --tls-key k.pem --tls-key-log keys.log"},
		{args: "--listen :18000 --upstream h:1 --tls-ca-dir d --upstream-tls --tls-key-log keys.log"},
		{args: "--listen :18000 --upstream h:1 --upstream-tls=false --upstream-ca a.pem"},
		{args: "--listen :18000 --upstream h:1 --upstream-ca a.pem --upstream-cert c.pem"},
		{args: "--listen :18000 --upstream h:1 --upstream-ca a.pem --upstream-cert c.pem --upstream-key k.pem --upstream-server-name n"},
		{args: "--listen :18000 --upstream h:1 --upstream-insecure-skip-verify"},
		{args: "--listen :18000 --upstream h:1 --upstream-insecure-skip-verify --upstream-ca a.pem"},
		{args: "--listen :18000 --upstream h:1 --upstream-tls --tls-key-log keys.log"},
		{args: "--listen :18000 --upstream h:1 --tls-key-log keys.log"},
		{args: "--listen :18000 --upstream h:1 --header x-a=b --header-from-file authorization=token"},
		{args: "--listen :18000 --upstream h:1 --header authorization"},
		{args: "--listen :18000 --upstream h:1 --header :path=x"},
		{args: "--archive s3://bucket/prefix/"},
		{args: "--archive s3://bucket/ --archive-cluster c --archive-name n --archive-hold 1GiB"},
		{args: "--archive s3://bucket/ --archive-cluster a/b"},
		{args: "--archive nonsense"},
		{args: "--archive file://DIR/token"},
		{args: "--archive file://DIR/token/"},
		{args: "--archive file://DIR"},
		{args: "--archive file://DIR/there-later/"},
		{args: "--archive s3://bucket/p --max-age 1h --archive-name az.AZ-09_%:{`@[/"},
		{args: "--archive s3://bucket/ --archive-name " + strings.Repeat("n", 240)},
		{args: "--archive s3://bucket/ --archive-name " + strings.Repeat("n", 241)},
		{args: "--archive s3://bucket/ --archive-name " + strings.Repeat("azAZ09-_.b", 24)},
		{args: "--archive s3://bucket/ --archive-name " + strings.Repeat("/", 80)},
		{args: "--archive s3://bucket/ --archive-name " + strings.Repeat("/", 81)},
		{args: "--archive s3://bucket/ --archive-name a\x01b"},
		{args: "--archive s3://bucket/ --archive-cluster="},
		{args: "--archive s3://bucket/ --archive-hold 1GiB --keep 4"},
		{env: map[string]string{"XDSPROXY_ARCHIVE_CLUSTER": "c"}},
		{args: "--archive-cluster c"},
		{args: "--archive s3://b/ --no-record"},
		{args: "--archive s3://b/ --max-size 1GiB --keep 3"},
		{args: "--dump-on nack-received"},
		{args: "--dump-on error --dump-on warning --dump-dir d --dump-before 5m --dump-every 1h"},
		{args: "--dump-on nonsense"},
		{args: "--dump-dir d"},
		{args: "--dump-before 5m"},
		{args: "--envoy-admin 127.0.0.1:9901"},
		{args: "--envoy-admin n1=127.0.0.1:9901 --envoy-admin n2=127.0.0.1:9902"},
		{args: "--envoy-admin n1=127.0.0.1:9901 --envoy-admin n1=127.0.0.1:9902"},
		{args: "--envoy-admin nonsense"},
		{args: "--envoy-admin 127.0.0.1:9901 --envoy-admin 127.0.0.1:9901"},
		{args: "--csds 127.0.0.1:9901 --envoy-admin 127.0.0.1:9901"},
		{args: "--csds http://10.0.0.1:9901 --held-token-file DIR/token"},
		{args: "--csds https://10.0.0.1:9901 --csds 127.0.0.1:1 --held-token-file DIR/token"},
		{args: "--csds 127.0.0.1:1 --held-interval 99ms"},
		{args: "--csds 127.0.0.1:1 --held-interval 100ms"},
		{args: "--csds 127.0.0.1:1 --held-interval off"},
		{args: "--held-interval 1s"},
		{args: "--files d --files e --envoy-bootstrap b.yaml"},
		{args: "--files d --envoy-admin 127.0.0.1:9901"},
		{args: "--viewer-token-file DIR/token"},
		{args: "--viewer-token-file DIR/nowhere"},
		{args: "--viewer-token-file DIR/none"},
		{env: map[string]string{"XDSPROXY_VIEWER_TOKEN": "from the environment"}},
		{args: "--max-size 3"},
		{args: "--max-size 1023B"},
		{args: "--max-size none"},
		{args: "--max-size 0"},
		{env: map[string]string{"XDSPROXY_MAX_SIZE": "3"}},
		{args: "--queue 1 --sync 0 --max-size 1KiB --max-age 1s --keep -1"},
		{args: "--max-connections 0 --max-streams x"},
		{env: map[string]string{"XDSPROXY_LISTEN": ":1,:2", "XDSPROXY_UPSTREAM": "a:1,b:2"}},
		{env: map[string]string{"XDSPROXY_MAX_SIZE": "much"}},
		{env: map[string]string{"XDSPROXY_LISTN": ":1"}},
		{file: "listen: [':1']\nupstream: ['a:1']\n"},
		{file: "listeners:\n- {listen: ':1', upstream: 'a:1', upstream-ca: a.pem}\n- {listen: ':2', upstream: 'b:1'}\n"},
		{file: "listeners:\n- {listen: ':1', upstream: 'a:1'}\n", args: "--upstream-ca b.pem"},
		{file: "listeners:\n- {listen: ':1', upstream: 'a:1'}\n", args: "--listen :3"},
		{file: "listeners:\n- {upstream: 'a:1'}\n"},
		{file: "listeners:\n- {listen: ':1', upstrem: 'a:1'}\n"},
		{file: "max-sise: 1GiB\n"},
		{file: "max-size: many\n"},
		{file: "max-size: 1GiB\nkeep: 4\nsync: 5s\n"},
		{file: "a: [\n"},
		{file: "listeners:\n- {name: a, listen: ':1', upstream: 'a:1'}\n- {name: a, listen: ':2', upstream: 'b:1'}\n"},
		{file: "listeners:\n- {name: [], listen: ':1', upstream: 'a:1'}\n"},
		{file: "listeners:\n- {name: '', listen: ':1', upstream: 'a:1'}\n"},
		{file: "listeners:\n- {name: west, listen: ':1', upstream: 'a:1', keep: 3}\n"},
		{file: "listeners:\n- {name: west, listen: ':1'}\n"},
		{file: "listeners:\n- {listen: ':1'}\n- {listen: ':2', upstream: 'b:1'}\nupstream: 'a:1'\n"},
		{file: "listeners:\n- {listen: ':1'}\nupstream: ['a:1', 'b:1']\n"},
		{file: "listeners:\n- {listen: ':1', upstream: 'a:1'}\nlisten: ':2'\n"},
		{file: "listeners:\n- {listen: ':1', upstream: 'a:1', tls-cert: c.pem}\n"},
		{file: "listeners:\n- {listen: ':1', upstream: 'a:1', tls-cert: c.pem, tls-key: k.pem}\ntls-ca-dir: d\n"},
		{file: "listeners:\n- {listen: ':1', upstream: 'a:1', tls-cert: c.pem, tls-key: k.pem, tls-ca-dir: d}\n"},
		{file: "listeners:\n- {listen: ':1', upstream: 'a:1', header: [x-a=b]}\n- {listen: ':1', upstream: 'b:1'}\n"},
		{file: "listeners:\n- {listen: ':1', upstream: 'a:1', upstream-cert: c.pem}\n"},
		{file: "listeners: []\n"},
		{file: "listeners: {}\n"},
		{file: "listeners:\n- 7\n"},
		{file: "listen: &a [':1']\nupstream: *a\n"},
		{file: "keep: {a: b}\n"},
		{file: "keep: null\n"},
		{file: "keep: [1, 2]\n"},
		{file: "keep: !!binary aGk=\n"},
		{file: "keep: 1\nkeep: 2\n"},
		{file: "- keep\n"},
		{file: "7: keep\n"},
		{file: "keep: 1\n---\nkeep: 2\n"},
		{file: "\n# nothing\n"},
		{file: "config: x\n"},
	} {
		dir := t.TempDir()
		if err := errors.Join(
			os.WriteFile(filepath.Join(dir, "token"), []byte("  a-token-of-a-file\n"), 0o600), os.WriteFile(filepath.Join(dir, "none"), []byte("\n"), 0o600),
			os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(c.file), 0o600)); err != nil {
			t.Fatal(err)
		}
		t.Run("", func(t *testing.T) {
			for _, v := range []string{"XDG_CONFIG_HOME", "HOME"} {
				t.Setenv(v, dir)
			}
			if c.file != "" {
				t.Setenv("XDSPROXY_CONFIG", filepath.Join(dir, "c.yaml"))
			}
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			var said bytes.Buffer
			con := &console.Console{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said}
			ss := New()
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			for _, s := range ss.Table {
				f := &pflag.Flag{Name: s.Name, Value: s.Value}
				if b, is := s.Value.(interface{ IsBoolFlag() bool }); is && b.IsBoolFlag() {
					f.NoOptDefVal = "true"
				}
				flags.AddFlag(f)
			}
			before := map[string]string{}
			for _, s := range ss.Table {
				before[s.Name] = strings.Join(s.Shown(), ",")
			}
			err := flags.Parse(strings.Fields(strings.ReplaceAll(c.args, "DIR", dir)))
			if err == nil {
				err = ss.Resolve(con, flags)
			}
			var b strings.Builder
			fmt.Fprintf(&b, "== %s %v %q\n", c.args, c.env, c.file)
			if err != nil {
				fmt.Fprintf(&b, "  error: %v\n", err)
				if f, is := errors.AsType[*console.Failure](err); is && len(f.Hints) > 0 {
					fmt.Fprintf(&b, "    hints: %s\n", strings.Join(f.Hints, "; "))
				}
			} else {
				for _, s := range ss.Table {
					if is := strings.Join(s.Shown(), ","); is != before[s.Name] {
						fmt.Fprintf(&b, "  %s = %s (%v %s)\n", s.Name, is, s.Origin, s.From)
					}
				}
				b.WriteString(asked(ss, con))
			}
			if said.Len() > 0 {
				b.WriteString("  says: " + said.String())
			}
			host, _ := os.Hostname()
			got.WriteString(strings.NewReplacer(dir, "DIR", "Name:"+host+" ", "Name:HOST ").Replace(b.String()))
		})
	}
	golden.Is(t, "testdata/settings.txt", got.String())
}
