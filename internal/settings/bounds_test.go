package settings

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// A line of help is as wide as it may be, and no wider; the last word has no comma.
func TestWordsAreWrapped(t *testing.T) {
	long := strings.Repeat("x", HelpWidth-2)
	half := strings.Repeat("y", HelpWidth-2-len("a, "))
	for _, c := range []struct {
		words []string
		want  string
	}{
		{nil, "\n"},
		{[]string{"a"}, "  a\n"},
		{[]string{"a", "b", "c"}, "  a, b, c\n"},
		{[]string{"a", long}, "  a,\n  " + long + "\n"},
		{[]string{long, "a"}, "  " + long + ",\n  a\n"},
		{[]string{"a", half}, "  a, " + half + "\n"},
		{[]string{"a", half + "y"}, "  a,\n  " + half + "y\n"},
		{[]string{"a", half[1:], "b"}, "  a, " + half[1:] + ",\n  b\n"},
	} {
		if got := wrapWords(c.words); got != c.want {
			t.Errorf("%q:\n%q, not\n%q", c.words, got, c.want)
		}
	}
}

// The page of the file says of each key where it may stand, as the file takes it.
func TestWhereKeysMayStand(t *testing.T) {
	ss := New()
	_, keys, _ := strings.Cut(ss.FileHelp(), "Keys of a listener")
	_, keys, _ = strings.Cut(keys, "\n\n")
	of, top, _ := strings.Cut(keys, "Keys of the top level only:")
	words := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	}
	want := []string{"name"}
	for _, s := range newListener(0).Settings {
		want = append(want, s.Name)
	}
	got := words(of)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("of a listener: %q, not %q", got, want)
	}
	for _, name := range words(top) {
		if slices.Contains(want, name) {
			t.Errorf("%s is of the top level only, and of a listener", name)
		}
	}
}

// The file is that of the XDG configuration directory, whose variable counts if it is
// absolute; else that below the home. Who has no home has no file.
func TestWhereTheFileIs(t *testing.T) {
	xdg, home := t.TempDir(), t.TempDir()
	for dir, text := range map[string]string{filepath.Join(xdg, "xdsproxy"): "keep: 3\n", filepath.Join(home, ".config", "xdsproxy"): "keep: 4\n"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		xdg, home string
		want      Count
	}{
		{xdg, home, 3}, {"", home, 4}, {"relative", home, 4}, {t.TempDir(), home, 0}, {"", "", 0},
	} {
		ss, err := resolved(t, map[string]string{"XDG_CONFIG_HOME": c.xdg, "HOME": c.home}, "")
		if err != nil || ss.Keep != c.want || (ss.Path != "") != (c.want > 0) {
			t.Errorf("%q, %q: keep %d of %q, %v", c.xdg, c.home, ss.Keep, ss.Path, err)
		}
	}
	if path, err := DefaultConfigFile(); err == nil {
		t.Errorf("without a home it is %s", path)
	}
}

// A file, and its list of listeners, may be as large as it is said, and no larger.
func TestHowLargeAFileMayBe(t *testing.T) {
	text := "keep: 3\n#" + strings.Repeat("x", MaxConfigFile-len("keep: 3\n#"))
	if doc, err := parseConfig([]byte(text)); err != nil || len(doc.keys) != 1 {
		t.Errorf("%d bytes: %d keys, %v", len(text), len(doc.keys), err)
	}
	if _, err := parseConfig([]byte(text + "x")); err == nil {
		t.Errorf("%d bytes were taken", len(text)+1)
	}
	list := listenersKey + ":\n" + strings.Repeat("- {listen: ':1'}\n", maxListeners)
	if doc, err := parseConfig([]byte(list)); err != nil || len(doc.listeners) != maxListeners {
		t.Errorf("%d listeners, %v", len(doc.listeners), err)
	}
	if _, err := parseConfig([]byte(list + "- {listen: ':1'}\n")); err == nil || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("one more: %v", err)
	}
}

// Of two settings that bear on each other, the one that was said more strongly counts,
// and of equals the first.
func TestWhichOfTwoCounts(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		file string
		args string
		want string
	}{
		{nil, "", "--upstream-ca ca.pem --upstream-server-name n", "upstream(ca.pem n, by upstream-ca)"},
		{map[string]string{"XDSPROXY_UPSTREAM_TLS": "off"}, "upstream-ca: ca.pem\n", "--upstream-server-name n", "upstream(ca.pem n, by upstream-server-name)"},
		{map[string]string{"XDSPROXY_UPSTREAM_TLS": "off"}, "upstream-server-name: n\n", "--upstream-ca ca.pem", "upstream(ca.pem n, by upstream-ca)"},
		{map[string]string{"XDSPROXY_TLS_KEY": "k.pem"}, "", "--tls-cert c.pem", "clients(c.pem k.pem)"},
		{nil, "tls-cert: c.pem\ntls-key: k.pem\n", "--tls-cert=", "plain"},
		{nil, "tls-key: k.pem\n", "--tls-cert=", "plain"},
		{nil, "", "--tls-cert= --tls-key k.pem", "--tls-key without --tls-cert"},
		{nil, "", "--tls-cert= --tls-key=", "plain"},
		{nil, "tls-key: k.pem\n", "", "\"tls-key\" of the file without \"tls-cert\""},
	} {
		t.Run("", func(t *testing.T) { // with an environment of its own
			ss, err := resolved(t, c.env, c.file, append(strings.Fields(c.args), "--upstream", "a:1")...)
			got := "plain"
			if err == nil {
				pairs, wrong := ss.Pairs(&console.Console{Stderr: &strings.Builder{}})
				if err = wrong; err == nil {
					if l := pairs[0].ListenTLS; l != nil {
						got = fmt.Sprintf("clients(%s %s)", l.Cert, l.Key)
					}
					if u := pairs[0].UpstreamTLS; u != nil {
						got = fmt.Sprintf("upstream(%s %s, by %s)", u.CA, u.ServerName, findSetting(ss.Table, "upstream-tls").From)
					}
				}
			}
			if err != nil {
				got = err.Error()
			}
			if ss.Path != "" {
				got = strings.ReplaceAll(got, ss.Path, "the file")
			}
			if got != c.want {
				t.Errorf("%v %q %s: %s, not %s", c.env, c.file, c.args, got, c.want)
			}
		})
	}
}

// The oldest version of TLS is the one that was asked for, on both sides.
func TestVersionsOfTLS(t *testing.T) {
	for args, want := range map[string]uint16{"": tls.VersionTLS12, "--tls-min-version 1.2": tls.VersionTLS12, "--tls-min-version 1.3": tls.VersionTLS13} {
		ss, err := resolved(t, nil, "", strings.Fields("--upstream a:1 --upstream-tls --tls-ca-dir d "+args)...)
		if err != nil {
			t.Fatal(err)
		}
		pairs, err := ss.Pairs(&console.Console{Stderr: &strings.Builder{}})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []proxy.Versions{pairs[0].ListenTLS.Versions, pairs[0].UpstreamTLS.Versions} {
			if v.Min != want || v.Max != tls.VersionTLS13 {
				t.Errorf("%q: from %x to %x", args, v.Min, v.Max)
			}
		}
	}
}

// Who speaks TLS through a socket file has to say whom the certificate must name.
func TestOneSideOfASocketFile(t *testing.T) {
	const unnamed = "TLS with unix:/u, which has no host"
	for _, c := range []struct{ args, network, want string }{
		{"", "unix", ""},
		{"--upstream-tls", "unix", unnamed},
		{"--upstream-ca ca.pem", "unix", unnamed},
		{"--upstream-server-name n", "unix", ""},
		{"--upstream-insecure-skip-verify", "unix", ""},
		{"--upstream-tls", "tcp", ""},
		{"--tls-cert c.pem", "tcp", "--tls-cert is for --as server"},
	} {
		ss, err := resolved(t, nil, "", strings.Fields(c.args)...)
		if err != nil {
			t.Fatal(err)
		}
		live := proxy.Addr{Network: "unix", Address: "/u"}
		if c.network == "tcp" {
			live = proxy.Addr{Network: "tcp", Address: "h:1"}
		}
		_, err = ss.OneSide(false, live)
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.network, c.args, err)
		}
	}
}

// An archive is asked for by its URL, even by one that cannot be.
func TestWantsArchive(t *testing.T) {
	for args, want := range map[string]bool{"": false, "--archive-cluster c": false, "--archive s3://b/": true, "--archive nonsense": true} {
		ss, err := resolved(t, nil, "", strings.Fields(args)...)
		if err != nil || ss.WantsArchive() != want {
			t.Errorf("%q: %v, %v", args, ss.WantsArchive(), err)
		}
	}
}

// Files have names, and a setting that every command has is not of run alone.
func TestRows(t *testing.T) {
	for _, name := range []string{"descriptors", "proto-path"} {
		if _, err := resolved(t, nil, "", "--"+name+"="); err == nil || !strings.Contains(err.Error(), "no name") {
			t.Errorf("--%s=: %v", name, err)
		}
	}
	for name, want := range map[string]bool{"config": false, "verbose": false, "listen": true, "keep": true} {
		if s := findSetting(New().Table, name); s.Run != want {
			t.Errorf("%s: of run alone is %v", name, s.Run)
		}
	}
}
