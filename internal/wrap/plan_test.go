package wrap

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/held"
)

const envoyText = `node: {id: node-1, cluster: c}
dynamic_resources:
  ads_config:
    api_type: GRPC
    grpc_services: [{envoy_grpc: {cluster_name: xds}}]
static_resources:
  clusters:
  - name: xds
    type: STRICT_DNS
    load_assignment:
      cluster_name: xds
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 10.0.0.5, port_value: 15010}}}
`

const grpcText = `{"xds_servers":[{"server_uri":"10.0.0.6:15010","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"}}`

// place is a directory with a bootstrap of each kind and a program that does
// nothing, called envoy, and a console that keeps what it says.
func place(t *testing.T) (dir string, con *console.Console, said *strings.Builder) {
	t.Helper()
	t.Setenv(grpcBootstrap, "")
	t.Setenv(grpcBootstrapConfig, "")
	dir = t.TempDir()
	for name, text := range map[string]string{"envoy.yaml": envoyText, "grpc.json": grpcText, "other.yaml": "a: 1\n", "broken.yaml": "node: [\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"envoy", "consul", "client"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	said = &strings.Builder{}
	return dir, &console.Console{Ctx: t.Context(), Stderr: said}, said
}

// The bootstrap is where the command says, or the flag, or the environment; and the
// command is given a copy that leads to the proxy.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		file, env, config string
		args              []string // @ is the directory
		name, server      string
		runs              string // % is the copy
		after             string // of the environment
	}{
		{args: []string{"@envoy", "-c", "@envoy.yaml", "-l", "info"}, name: "bootstrap @envoy.yaml", server: "10.0.0.5:15010", runs: "@envoy -c %envoy.yaml -l info"},
		{args: []string{"@envoy", "--config-path=@envoy.yaml"}, name: "bootstrap @envoy.yaml", server: "10.0.0.5:15010", runs: "@envoy --config-path=%envoy.yaml"},
		{args: []string{"@envoy", "--config-path", "@envoy.yaml"}, name: "bootstrap @envoy.yaml", server: "10.0.0.5:15010", runs: "@envoy --config-path %envoy.yaml"},
		{args: []string{"@client", "-c", "@other.yaml", "-c", "@envoy.yaml"}, name: "bootstrap @envoy.yaml", server: "10.0.0.5:15010", runs: "@client -c @other.yaml -c %envoy.yaml"},
		{file: "@envoy.yaml", args: []string{"@client", "--with={}", "{}"}, name: "bootstrap @envoy.yaml", server: "10.0.0.5:15010", runs: "@client --with=%envoy.yaml %envoy.yaml"},
		{file: "@grpc.json", args: []string{"@client"}, name: "bootstrap @grpc.json", server: "10.0.0.6:15010", runs: "@client", after: "%grpc.json"},
		{env: "@grpc.json", config: "{}", args: []string{"@client", "-c", "no-such-file"}, name: "bootstrap @grpc.json", server: "10.0.0.6:15010", runs: "@client -c no-such-file", after: "%grpc.json"},
		{config: grpcText, args: []string{"@client"}, name: "bootstrap " + grpcBootstrapConfig, server: "10.0.0.6:15010", runs: "@client", after: "%bootstrap.json"},
		{args: []string{"@envoy", "--config-yaml", envoyText, "-l", "info"}, name: "bootstrap --config-yaml", server: "10.0.0.5:15010", runs: "@envoy -c %bootstrap.yaml -l info"},
		{args: []string{"@envoy", "--config-yaml=" + envoyText}, name: "bootstrap --config-yaml", server: "10.0.0.5:15010", runs: "@envoy -c %bootstrap.yaml"},
		{args: []string{"@envoy", "-c", "@envoy.yaml", "--config-yaml", "node: {id: other}"}, name: "bootstrap @envoy.yaml with --config-yaml", server: "10.0.0.5:15010", runs: "@envoy -c %bootstrap.json"},
	} {
		dir, con, said := place(t)
		at := func(s string) string { return strings.ReplaceAll(s, "@", dir+"/") }
		t.Setenv(grpcBootstrap, at(c.env))
		t.Setenv(grpcBootstrapConfig, c.config)
		args := slices.Clone(c.args)
		for i := range args {
			args[i] = at(args[i])
		}
		p, err := Find(con, at(c.file), args)
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		servers, err := p.Servers()
		if err != nil || len(servers) != 1 || servers[0].Address != c.server || p.Name != at(c.name) {
			t.Errorf("%q: %s, %v, %v, %s", c.args, p.Name, servers, err, said)
			continue
		}
		pairs, err := p.Pairs(servers, dir)
		if err != nil || len(pairs) != 1 || pairs[0].Upstream.Address != c.server || pairs[0].Listen.Address != "127.0.0.1:0" || pairs[0].UpstreamTLS != nil {
			t.Errorf("%q: %+v, %v", c.args, pairs, err)
		}
		copies := t.TempDir()
		if err := p.Lead(servers, []net.Addr{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4321}}, copies); err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		with := func(s string) string { return strings.ReplaceAll(at(s), "%", copies+"/") }
		if got := strings.Join(p.argv, " "); got != with(c.runs) {
			t.Errorf("%q runs %s", c.args, got)
		}
		if (c.after == "") != (p.env == nil) || c.after != "" && p.env[len(p.env)-1] != grpcBootstrap+"="+with(c.after) {
			t.Errorf("%q: %q", c.args, p.env)
		}
		for _, kv := range p.env[:max(len(p.env)-1, 0)] {
			if strings.HasPrefix(kv, grpcBootstrap) {
				t.Errorf("%q still has %s", c.args, kv)
			}
		}
		files, err := filepath.Glob(copies + "/*")
		if err != nil || len(files) != 1 {
			t.Fatalf("%q, %v", files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil || !strings.Contains(string(text), "4321") || strings.Contains(string(text), "15010") {
			t.Errorf("%q: %s, %v", c.args, text, err)
		}
		if said.Len() > 0 {
			t.Errorf("%q: %s", c.args, said)
		}
	}
}

// What cannot be wrapped says why, and how it would be right.
func TestFindNot(t *testing.T) {
	for _, c := range []struct {
		file string
		args []string
		want string
		hint string
	}{
		{"", nil, "no command to run", "xdsproxy wrap envoy -c envoy.yaml"},
		{"", []string{"@nothing"}, "no such command", ""},
		{"", []string{"@client"}, "no bootstrap: the command has no -c FILE", "name it: xdsproxy wrap --bootstrap FILE"},
		{"", []string{"@envoy", "-c", "@none.yaml"}, "cannot read the bootstrap", ""},
		{"", []string{"@client", "-c", "@none.yaml"}, "no bootstrap: ", ""},
		{"", []string{"@client", "-c", "@broken.yaml"}, "bootstrap @broken.yaml: ", ""},
		{"", []string{"@client", "-c", "@other.yaml"}, "no bootstrap: ", ""},
		{"@none.yaml", []string{"@client"}, "cannot read the bootstrap", ""},
		{"@envoy.yaml", []string{"@envoy", "-c", "x y"}, "but no {} in the command", "xdsproxy wrap --bootstrap @envoy.yaml -- @envoy -c {}"},
		{"@envoy.yaml", []string{"@client", "-l"}, "but no {} in the command", "xdsproxy wrap --bootstrap @envoy.yaml -- @client -l -c {}"},
		{
			"",
			[]string{"@consul", "connect", "envoy", "-sidecar-for", "w b", "--", "-l", "info"},
			"consul connect envoy makes the bootstrap itself",
			"let it print the bootstrap, and wrap Envoy: @consul connect envoy -sidecar-for 'w b' -bootstrap > envoy.json && xdsproxy wrap envoy -c envoy.json -l info",
		},
		{"", []string{"@consul", "connect", "other"}, "no bootstrap: ", ""},
	} {
		dir, con, _ := place(t)
		at := func(s string) string { return strings.ReplaceAll(s, "@", dir+"/") }
		args := slices.Clone(c.args)
		for i := range args {
			args[i] = at(args[i])
		}
		_, err := Find(con, at(c.file), args)
		f, _ := err.(*console.Failure)
		if f == nil || !strings.Contains(f.Error(), at(c.want)) || c.hint != "" && (len(f.Hints) != 1 || !strings.HasPrefix(f.Hints[0], at(c.hint))) {
			t.Errorf("%q: %+v", c.args, f)
		}
	}
}

// --config-yaml that cannot be read together with the bootstrap is left alone, and
// that is said.
func TestOverlayThatIsBroken(t *testing.T) {
	dir, con, said := place(t)
	p, err := Find(con, "", []string{dir + "/envoy", "-c", dir + "/envoy.yaml", "--config-yaml", "node: ["})
	if err != nil || !strings.Contains(said.String(), "which cannot be read together") || !slices.Contains(p.argv, "--config-yaml") {
		t.Errorf("%v, %s", err, said)
	}
}

// Servers that a proxy cannot stand in for are named, and are an error if there is
// no other.
func TestServersThatCannot(t *testing.T) {
	dir, con, said := place(t)
	secured := strings.Replace(envoyText, "    type: STRICT_DNS\n", "    type: STRICT_DNS\n    transport_socket_matches: [{name: a}]\n", 1)
	for name, c := range map[string]struct{ text, want, hint string }{
		"none":    {"node: {id: node-1, cluster: c}\nstatic_resources: {clusters: []}\n", "names no xDS server", "Envoy names them by ads_config"},
		"blocked": {secured, "names no xDS server that can be wrapped", "10.0.0.5:15010 (xds), for "},
	} {
		path := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Find(con, "", []string{dir + "/envoy", "-c", path})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Servers()
		f, _ := err.(*console.Failure)
		if f == nil || !strings.HasSuffix(f.Error(), c.want) || len(f.Hints) == 0 || !strings.HasPrefix(f.Hints[0], c.hint) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if said.Len() > 0 {
		t.Errorf("%s", said)
	}
}

// Envoy is asked what it holds where its bootstrap says, if it says that.
func TestHeld(t *testing.T) {
	const free = "Envoy's admin port is any that is free, so that Envoy is not asked what it holds; give it a port in the bootstrap for that\n"
	for admin, c := range map[string]struct{ network, address, said string }{
		"": {},
		"admin: {address: {socket_address: {address: 10.0.0.9, port_value: 9901}}}\n": {"tcp", "10.0.0.9:9901", ""},
		"admin: {address: {socket_address: {address: 0.0.0.0, port_value: 9901}}}\n":  {"tcp", "127.0.0.1:9901", ""},
		"admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}\n":   {"", "", free},
		"admin: {address: {pipe: {path: /run/admin}}}\n":                              {"unix", "/run/admin", ""},
	} {
		dir, con, said := place(t)
		if err := os.WriteFile(filepath.Join(dir, "envoy.yaml"), []byte(admin+envoyText), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Find(con, "", []string{dir + "/envoy", "-c", dir + "/envoy.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Held(false); got != nil || said.Len() > 0 {
			t.Errorf("%s: it is asked although nobody wants to: %+v, %s", admin, got, said)
		}
		got := p.Held(true)
		if len(got) != min(len(c.network), 1) || len(got) == 1 && (got[0].Source != held.EnvoyAdmin || got[0].Network != c.network || got[0].Address != c.address) || said.String() != c.said {
			t.Errorf("%s: %+v, %s", admin, got, said)
		}
	}
}

// What a bootstrap refers to is read if it is a regular file: of a pipe or a device
// nothing may ever come.
func TestReferredFiles(t *testing.T) {
	dir, con, _ := place(t)
	p := &Plan{con: con}
	if text, err := p.readReferred(filepath.Join(dir, "other.yaml")); err != nil || string(text) != "a: 1\n" {
		t.Errorf("%q, %v", text, err)
	}
	for file, want := range map[string]string{dir: dir + " is no regular file", os.DevNull: os.DevNull + " is no regular file", filepath.Join(dir, "none"): "no such file or directory"} {
		if text, err := p.readReferred(file); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
}
