package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// The targets, with names as long as Kubernetes lets them be.
const (
	workload = `{"apiVersion":"apps/v1","kind":"KIND","metadata":{"name":"NAME","namespace":"shop"},"spec":{
		"selector":{"matchLabels":{"app":"web"}},
		"template":{"metadata":{"labels":{"app":"web"},"annotations":{"kept":"yes"}},"spec":{
			"initContainers":[{"name":"envoy-initconfig","image":"contour","args":["bootstrap","/config/envoy.json","--xds-address=contour","--xds-port=8001"]}],
			"containers":[{"name":"web","image":"web"}],
			"volumes":[{"name":"theirs","emptyDir":{}}]}}}}`
	gateway = `{"apiVersion":"gateway.envoyproxy.io/v1alpha1","kind":"EnvoyProxy","metadata":{"name":"NAME","namespace":"shop"},
		"spec":{"provider":{"type":"Kubernetes","kubernetes":{"envoyDeployment":{"replicas":2}}}}}`
)

// pasting stands for kubectl where a sheet is pasted: patch is done by the real one,
// on a file, and everything else is only noted.
const pasting = `#!/bin/sh
printf '%s\n' "$*" | tr '\n' ' ' >>"$DIR/calls"; echo >>"$DIR/calls"
while :; do case "$1" in
patch) break;;
get) [ "$2" != service ] || echo 10.96.0.7; [ "$2" != deployment ] || echo address: envoy-gateway; exit 0;;
create|delete|xds) exit 0;;
esac; shift; done
shift 3
"$KUBECTL" patch --local -f "$DIR/object" -o json "$@" >"$DIR/next" && mv "$DIR/next" "$DIR/object"
`

func TestInsert(t *testing.T) {
	kubectl := realKubectl(t)
	long := strings.Repeat("a", 59) + "." + strings.Repeat("b", 20)
	images := []string{"--image", "registry.example:5000/x/xdsproxy@sha256:0011", "--iptables-image", "registry.example/tables:1"}
	for _, c := range []struct {
		way, kind, object string
		flags             []string
		has               []string // after what puts it in
	}{
		{"istio", "Deployment", workload, nil, []string{`"proxy.istio.io/config": "discoveryAddress: xdsproxy.xdsproxy.svc:18000\ncontrolPlaneAuthPolicy: NONE\n"`}},
		{"istio-tls", "StatefulSet", workload, []string{"--proxy", "x.y:1"}, []string{`discoveryAddress: x.y:1\nproxyMetadata:\n  XDS_ROOT_CA: /etc/xdsproxy-ca/ca.pem\n`, `"sidecar.istio.io/userVolumeMount"`}},
		{"envoy-gateway", "EnvoyProxy", gateway, nil, []string{`"ip": "10.96.0.7"`, `"StrategicMerge"`}},
		{"contour", "DaemonSet", workload, nil, []string{`"--xds-address=xdsproxy"`, `"--xds-port=18000"`}},
		{"consul", "Deployment", workload, images, []string{`"value": "8502"`, `"consul.hashicorp.com/transparent-proxy-exclude-uids": "65532"`, `"registry.example/tables:1"`}},
		{"sidecar", "Deployment", workload, append([]string{"--upstream", "cp.example:5678"}, images[:2]...), []string{`"value": "cp.example:5678"`, `"registry.example:5000/x/xdsproxy@sha256:0011"`}},
		{"original-dst", "DaemonSet", workload, append([]string{"--xds-port", "15010"}, images...), []string{`"value": "15010"`, `"NET_ADMIN"`, `"original-dst"`}},
	} {
		t.Run(c.way, func(t *testing.T) {
			dir := t.TempDir()
			before := strings.NewReplacer("KIND", c.kind, "NAME", long).Replace(c.object)
			write(t, filepath.Join(dir, "object"), before, 0o600)
			write(t, filepath.Join(dir, "kubectl"), pasting, 0o700)
			var out, errs strings.Builder
			args := append([]string{"insert", c.way, strings.ToLower(c.kind) + "/" + long, "-n", "shop", "--context", `it's "a" $(touch x) cluster`}, c.flags...)
			if code := run(args, nil, &out, &errs); code != 0 {
				t.Fatalf("%d: %s", code, errs.String())
			}
			in, away, has := strings.Cut(out.String(), "\n# To take it out again:")
			if !has {
				t.Fatalf("it says nothing of how to take it out again:\n%s", out.String())
			}
			paste(t, kubectl, dir, in)
			with := read(t, filepath.Join(dir, "object"))
			for _, want := range c.has {
				if !strings.Contains(with, want) {
					t.Errorf("there is no %s in\n%s", want, with)
				}
			}
			if at := strings.Index(with, `"envoy-initconfig"`); strings.Contains(with, `"xdsproxy"`) && strings.Index(with, `"xdsproxy"`) > at {
				t.Errorf("other init containers are before xdsproxy, which they may need:\n%s", with)
			}
			paste(t, kubectl, dir, "# To take it out again:"+away)
			if got, want := plain(t, read(t, filepath.Join(dir, "object"))), plain(t, before); !reflect.DeepEqual(got, want) {
				t.Errorf("taken out again it is\n%v\nand was\n%v", got, want)
			}
			called := read(t, filepath.Join(dir, "calls"))
			for l := range strings.Lines(called) {
				if !strings.Contains(l, `--context it's "a" $(touch x) cluster`) {
					t.Errorf("another cluster: kubectl %s", l)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
				t.Error("a name was run by the shell")
			}
		})
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// paste gives a text to a shell.
func paste(t *testing.T, kubectl, dir, text string) {
	t.Helper()
	cmd := exec.Command("sh", "-eu")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "DIR="+dir, "KUBECTL="+kubectl, "KUBECONFIG=/dev/null")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, text)
	}
}

// plain is an object without what is empty, which a patch may leave.
func plain(t *testing.T, text string) any {
	t.Helper()
	var o any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	var prune func(any) any
	prune = func(v any) any {
		if m, is := v.(map[string]any); is {
			for k, e := range m {
				e = prune(e)
				if l, is := e.([]any); e == nil || is && len(l) == 0 {
					delete(m, k)
				} else if n, is := e.(map[string]any); is && len(n) == 0 && k != "emptyDir" && k != "patch" {
					delete(m, k)
				}
			}
		}
		return v
	}
	return prune(o)
}

func TestInsertRefuses(t *testing.T) {
	for _, c := range [][]string{
		{"istio"},
		{"deploy/web"},
		{"istio", "pod/web"},
		{"istio", "envoyproxy/web"},
		{"envoy-gateway", "deploy/web"},
		{"istio", "deploy/web;id"},
		{"istio", "deploy/$(id)"},
		{"istio", "deploy/we\nb"},
		{"istio", "deploy/" + strings.Repeat("a", 254)},
		{"istio", "deploy/web", "-n", "a b"},
		{"istio", "deploy/web", "-n"},
		{"istio", "deploy/web", "--context", "a\x1b[1m"},
		{"istio", "deploy/web", "--context", "a\nb"},
		{"istio", "deploy/web", "--proxy", "host:1\nevil: yes"},
		{"istio", "deploy/web", "--proxy", "host"},
		{"istio", "deploy/web", "--proxy", "host:0"},
		{"sidecar", "deploy/web"},
		{"sidecar", "deploy/web", "--image", "a", "--upstream", `a":1`},
		{"sidecar", "deploy/web", "--image", "a: b", "--upstream", "a:1"},
		{"original-dst", "deploy/web", "--image", "a", "--iptables-image", "b", "--xds-port", "99999"},
		{"istio", "deploy/web", "--force"},
		{"linkerd", "deploy/web"},
	} {
		var out, errs strings.Builder
		code := run(append([]string{"insert"}, c...), nil, &out, &errs)
		if code != exitUsage || out.Len() > 0 || !regexp.MustCompile(`^kubectl xds: error: [^\n]+\nkubectl xds: hint: [^\n]+\n$`).MatchString(errs.String()) {
			t.Errorf("%q: %d\n%s%s", c, code, out.String(), errs.String())
		}
	}
}

// kubectl finds the plugin, and gives it its arguments.
func TestRealKubectl(t *testing.T) {
	kubectl := realKubectl(t)
	dir := programs(t, "kubectl-xds")
	ask := func(args ...string) (string, error) {
		cmd := exec.Command(kubectl, args...)
		cmd.Env = append(os.Environ(), "PATH="+dir, "KUBECONFIG=/dev/null")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := ask("plugin", "list"); err != nil || !strings.Contains(out, filepath.Join(dir, "kubectl-xds")) || strings.Contains(out, "warning") {
		t.Errorf("plugin list: %v\n%s", err, out)
	}
	if out, err := ask("xds", "--help"); err != nil || out != help {
		t.Errorf("xds --help: %v\n%s", err, out)
	}
	if out, err := ask("xds", "insert", "istio", "-n", "shop", "deploy/web"); err != nil || !strings.Contains(out, "kubectl -n shop patch deployment web") {
		t.Errorf("xds insert: %v\n%s", err, out)
	}
	if out, err := ask("xds", "watch", "deploy/web"); err == nil || !strings.Contains(out, "kubectl is not in PATH") && !strings.Contains(out, "xdsproxy is not in PATH") {
		t.Errorf("xds watch: %v\n%s", err, out)
	}
}

func TestHelpFits(t *testing.T) {
	for l := range strings.Lines(help) {
		if len(l) > 81 {
			t.Errorf("longer than 80 columns: %s", l)
		}
	}
	for w := range ways() {
		if !strings.Contains(help, "\n  "+w+" ") {
			t.Errorf("%s is not in the help", w)
		}
	}
}

// Nothing that a command line has reaches a terminal or a shell as it is.
func FuzzInsert(f *testing.F) {
	f.Add("istio", "deploy/web", "--context", "x")
	f.Add("sidecar", "ds/envoy", "--upstream", "a:1")
	f.Add("consul", "sts/a", "--image", "a\x00b")
	f.Fuzz(func(t *testing.T, way, target, flag, value string) {
		var out, errs strings.Builder
		code := run([]string{"insert", way, target, "--image=i", "--iptables-image=i", "--upstream=u:1", flag, value}, nil, &out, &errs)
		for _, text := range []string{out.String(), errs.String()} {
			if text != strings.ReplaceAll(printable(strings.ReplaceAll(text, "\n", "↵")), "↵", "\n") {
				t.Errorf("not printable: %q", text)
			}
		}
		if (code == 0) == (out.Len() == 0) {
			t.Errorf("exit code %d and %q", code, out.String())
		}
	})
}
