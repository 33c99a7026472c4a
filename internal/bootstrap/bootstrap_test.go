package bootstrap

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update is go test -update: write what is found as what is wanted.
var update = flag.Bool("update", false, "write testdata/*.golden")

// samples are the bootstraps in testdata.
func samples(t testing.TB) []string {
	t.Helper()
	inYAML, _ := filepath.Glob("testdata/*.yaml")
	inJSON, _ := filepath.Glob("testdata/*.json")
	if len(inYAML) == 0 || len(inJSON) == 0 {
		t.Fatal("no samples")
	}
	return append(inYAML, inJSON...)
}

// readFile reads the files that samples refer to, by their path in testdata.
func readFile(path string) ([]byte, error) {
	return os.ReadFile(filepath.Join("testdata", path))
}

// TestBootstraps compares what is found in each bootstrap of testdata, and the
// bootstrap with other addresses in it, with a golden file.
func TestBootstraps(t *testing.T) {
	for _, path := range samples(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			d, err := Parse(path, data, readFile)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			fmt.Fprintf(&got, "%s\n", map[Kind]string{Envoy: "Envoy", GRPC: "gRPC"}[d.Kind])
			for i, s := range d.Servers {
				fmt.Fprintf(&got, "\nserver %q %q\n", s.Address, s.Names)
				for _, u := range s.Uses {
					fmt.Fprintf(&got, "  %s at %s\n", u.What, u.Path)
				}
				if s.Obstacle != nil {
					fmt.Fprintf(&got, "  obstacle: %s; secured: %v\n", s.Obstacle.Why, s.Obstacle.Secured)
					continue
				}
				if s.TLS != nil {
					fmt.Fprintf(&got, "  %s\n", s.TLS)
					fmt.Fprintf(&got, "    server name %q, versions %x-%x\n", s.TLS.ServerName, s.TLS.Min, s.TLS.Max)
					for _, n := range s.TLS.Names {
						fmt.Fprintf(&got, "    name %q, %s, ignoring case: %v\n", n, n.How, n.Fold)
					}
					for _, p := range s.TLS.Pins {
						fmt.Fprintf(&got, "    pin %x, of the key: %v\n", p.Hash, p.Key)
					}
					fmt.Fprintf(&got, "    roots %+v, certificate %+v, key %+v\n", s.TLS.CA, s.TLS.Cert, s.TLS.Key)
				}
				addr := fmt.Sprintf("127.0.0.1:%d", 40000+i)
				switch {
				case s.Private():
					addr = fmt.Sprintf("unix:/tmp/proxy/%d.sock", i)
				case s.IPv6:
					addr = fmt.Sprintf("[::1]:%d", 40000+i)
				}
				fmt.Fprintf(&got, "  to %s\n", addr)
				if err := s.Redirect(addr); err != nil {
					t.Error(err)
				}
			}
			for _, w := range d.Warnings {
				fmt.Fprintf(&got, "\nwarning: %s\n", w)
			}
			text, err := d.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "\n%s", text)

			golden := path + ".golden"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("got\n%s\nwant\n%s", &got, want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	for _, c := range []struct{ name, file, text, want string }{
		{"empty", "x.yaml", "", "empty"},
		{"a list", "x.yaml", "- a", ErrUnknown.Error()},
		{"something else", "x.yaml", "apiVersion: v1\nkind: Pod", ErrUnknown.Error()},
		{"something else in JSON", "x.json", `{"a": 1}`, ErrUnknown.Error()},
		{"no YAML", "x.yaml", "a: [", "line 1"},
		{"no JSON", "x.json", "{\n\"a\": 1,,\n}", "line 2: syntax error"},
		{"JSON without an ending", "bootstrap", "{\"xds_servers\": [],,}", "line 1: syntax error"},
		{"cut off", "x.json", `{"xds_servers": [`, "line 1: it ends in the middle"},
		{"two documents of JSON", "x.json", `{} {}`, "line 1: syntax error"},
		{"text proto", "x.pb_text", "node {}", "a bootstrap in the form .pb_text cannot be rewritten"},
		{"binary", "x.pb", "\x0a\x00", "a bootstrap in the form .pb cannot be rewritten"},
		{"a key twice in JSON", "x.json", `{"xds_servers": [], "node": {"id": "a", "id": "b"}}`, `key "id" stands twice in one object`},
		{"a key that is a list", "x.yaml", "? [a]\n: b", "line 1: a key that is not a text"},
		{"aliases of aliases", "x.yaml", bomb, "more values than can be read"},
		{"an alias of itself", "x.yaml", "a: &a {b: *a}", "nested too deep"},
		{"deep", "x.yaml", "a: " + strings.Repeat("[", 201) + strings.Repeat("]", 201), "nested too deep"},
		{"very deep", "x.yaml", "a: " + strings.Repeat("[", 1<<19), "depth"},
		{"deep in JSON", "x.json", `{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", "nested too deep"},
		{"very deep in JSON", "x.json", strings.Repeat("[", 1<<19), "deep"},
		{"huge", "x.yaml", strings.Repeat("#", MaxSize+1), "larger than 16 MiB"},
		{"many in a list", "x.yaml", strings.Repeat("- a\n", maxValues), "more values than can be read"},
		{"many in JSON", "x.json", `{"a":[` + strings.Repeat("1,", maxValues) + "1]}", "more values than can be read"},
		{"gRPC in YAML", "x.yaml", "xds_servers: []", "not in JSON, which is all that gRPC reads"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse(c.file, []byte(c.text), nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ... %s ...", err, c.want)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	for target, want := range map[string]string{
		"a.example:18000":                 "a.example:18000",
		"a.example":                       "a.example:443",
		"dns:a.example:1":                 "a.example:1",
		"dns:///a.example:1":              "a.example:1",
		"dns://8.8.8.8/a.example:1":       "a.example:1",
		"dns://8.8.8.8:53/a.example":      "a.example:443",
		"passthrough:///10.0.0.1:1":       "10.0.0.1:1",
		"ipv4:10.0.0.1:1":                 "10.0.0.1:1",
		"ipv6:[::1]:1":                    "[::1]:1",
		"[::1]:1":                         "[::1]:1",
		"[::1]":                           "[::1]:443",
		"localhost:18000":                 "localhost:18000",
		"unix:/run/x.sock":                "unix:/run/x.sock",
		"unix:///run/x.sock":              "unix:/run/x.sock",
		"unix:x.sock":                     "unix:x.sock",
		"unix-abstract:x":                 "unix:@x",
		"unix:":                           "! its socket has no path",
		"unix:@x":                         "! its socket has no path",
		"unix-abstract:":                  "! its socket has no name",
		"google-c2p:///x":                 "! names of the form google-c2p: are resolved by the client",
		"xds://authority/a":               "! names of the form xds: are resolved by the client",
		"ipv4:10.0.0.1:1,10.0.0.2:1":      "! it has several addresses in one name",
		"a.example:https":                 "! its port is not a number",
		"a.example:70000":                 "! its port is not a number",
		":1":                              "! it is no host and port",
		"dns://8.8.8.8":                   "! it is no host and port",
		"a.example:1/path":                "! its port is not a number",
		"\x1b[31m red":                    "! it is no host and port",
		"passthrough:///unix:///run/sock": "! its port is not a number",
	} {
		d, err := Parse("x.json", fmt.Appendf(nil, `{"xds_servers": [{"server_uri": %s, "channel_creds": [{"type": "insecure"}]}]}`, quote(target)), nil)
		if err != nil || len(d.Servers) != 1 {
			t.Errorf("%s: %v", target, err)
			continue
		}
		s := d.Servers[0]
		got := s.Address
		if s.Obstacle != nil {
			got = "! " + s.Obstacle.Why
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
}

func quote(s string) string {
	return `"` + strings.ReplaceAll(s, "\x1b", `\u001b`) + `"`
}

func TestRedirectKeepsTheKind(t *testing.T) {
	d, err := Parse("x.json", []byte(`{"xds_servers": [
		{"server_uri": "a:1", "channel_creds": [{"type": "insecure"}]},
		{"server_uri": "unix:/a", "channel_creds": [{"type": "insecure"}]},
		{"server_uri": "b:1", "channel_creds": [{"type": "tls"}]},
		{"server_uri": "c:1", "channel_creds": [{"type": "google_default"}]}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, addr := range []string{"unix:/b", "127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1"} {
		if d.Servers[i].Redirect(addr) == nil {
			t.Errorf("%s stands in for %s", addr, d.Servers[i].Address)
		}
	}
}

// FuzzParse wants no panic, and of what is taken that it can be written again
// and says the same when it is read again.
func FuzzParse(f *testing.F) {
	for _, path := range samples(f) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Ext(path), data)
	}
	f.Add(".yaml", []byte("static_resources: &a {b: *a}"))
	f.Fuzz(func(t *testing.T, ending string, data []byte) {
		d, err := Parse("x"+ending, data, nil)
		if err != nil {
			return
		}
		wanted := map[string]bool{}
		for i, s := range d.Servers {
			if s.Obstacle != nil {
				continue
			}
			addr := fmt.Sprintf("127.0.0.1:%d", 40000+i)
			if s.Private() {
				addr = fmt.Sprintf("unix:/tmp/%d", i)
			}
			if err := s.Redirect(addr); err != nil {
				t.Fatal(err)
			}
			wanted[addr] = true
		}
		text, err := d.Bytes()
		if err != nil {
			return // said so: a text that cannot be kept
		}
		name := "x.yaml"
		if d.format == inJSON {
			name = "x.json"
		}
		again, err := Parse(name, text, nil)
		if err != nil && !errors.Is(err, ErrUnknown) {
			t.Fatalf("%v in\n%s", err, text)
		}
		if again == nil {
			t.Fatalf("unknown: %s", text)
		}
		found := map[string]bool{}
		for _, s := range again.Servers {
			if s.Obstacle == nil {
				found[s.Address] = true
			}
		}
		for addr := range wanted {
			if !found[addr] {
				t.Fatalf("%s is not found again in\n%s", addr, text)
			}
		}
	})
}
