package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// notOnPages are commands of these pages that no test can type, and why. All others
// are typed.
var notOnPages = map[string]string{
	"kubectl port-forward POD 19000 & XDSPROXY_VIEWER_TOKEN=... xdsproxy watch 127.0.0.1:19000": "needs a cluster",
	"xdsproxy replay @last --as client --follow --target 127.0.0.1:15011":                       "TestShadow has it, against control planes that change",
}

// elsewhere are names of pages that lead to other machines and folders, and what they
// are here. Beside these, the lines of a page are typed as they stand.
var elsewhere = strings.NewReplacer(
	"10.0.0.5:15010", "127.0.0.1:15010", "10.0.0.5:15012", "127.0.0.1:15010", "istiod.istio-system:15010", "127.0.0.1:15010",
	"/etc/envoy/dynamic", ".", "/run/", "./", "/etc/xdsproxy/", "./",
)

// typePage types the commands of a page: those that go on until someone ends them are
// ended when what is waited for is seen, and those that wait for an Envoy get one.
func typePage(t *testing.T, s *typist, path string, until, meets map[string]string, also func(string) string) {
	t.Helper()
	met := map[string]bool{}
	for _, c := range commandsOf(t, path) {
		met[c] = true
		typed := also(elsewhere.Replace(c))
		var out, code string
		switch {
		case notOnPages[c] != "":
			continue
		case until[c] != "":
			if strings.HasPrefix(typed, "xdsproxy run --upstream") {
				typed = "XDSPROXY_LISTEN=127.0.0.1:18000 " + typed // here the port that it has by itself may be taken
			}
			if out, code = s.lasting(t, typed, until[c]); code == "130" && strings.HasPrefix(c, "xdsproxy watch") {
				code = "0" // interrupted, as it follows until then
			}
		case meets[c] != "":
			out, code = s.do(t, "rm -f log\n"+typed+" >log 2>&1 & p=$!\n"+
				"until grep -q listening log 2>/dev/null; do kill -0 $p || break; sleep 0.1; done\n"+
				meets[c]+" >peer.log 2>&1 & e=$!\n"+
				"wait $p; code=$?; kill $e; wait $e; cat log; (exit $code)")
		default:
			out, code = s.do(t, typed)
		}
		// The control planes of the test are scripts. Each gives a listener a port of its
		// own where another Envoy has that of the recording: the one difference there is.
		if code == "11" && strings.Contains(out, "1 difference") && strings.Contains(out, "port_value: ") {
			code = "0"
		}
		if code != "0" {
			t.Errorf("%s\nexit code %s of\n%s\n%s", c, code, typed, out)
		}
	}
	for _, of := range []map[string]string{until, meets} {
		for c := range of {
			if !met[c] {
				t.Errorf("%q is not on %s any more", c, path)
			}
		}
	}
}

// files puts what stands in the fences of a language into files 1.LANG, 2.LANG, ...
func (s *typist) files(t *testing.T, path, lang string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range regexp.MustCompile("(?ms)^```"+lang+"\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		s.must(t, fmt.Sprintf("cat >%d.%s <<'END'\n%sEND\n", i+1, lang, elsewhere.Replace(m[1])))
	}
}

// Each way in that docs/inserting.md has, with a real Envoy and a real gRPC client,
// but for istio-agent, of which there is none here.
func TestPageInserting(t *testing.T) {
	t.Parallel()
	const page = "../../docs/inserting.md"
	s := newcomer(t)
	s.must(t, planes)
	s.must(t, `cat >"$(dirname "$(command -v xdsproxy)")/my-envoy.sh" <<'END'
#!/bin/sh
exec envoy -c "$2"
END
chmod +x "$(dirname "$(command -v xdsproxy)")/my-envoy.sh"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=here -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert-chain.pem 2>/dev/null
cp key.pem server-key.pem
for to in root-cert server clients; do cp cert-chain.pem $to.pem; done
`)
	until := map[string]string{}
	for _, c := range commandsOf(t, page) {
		switch {
		case strings.HasPrefix(c, "xdsproxy wrap"):
			until[c] = "grep -q nack-received log"
		case strings.HasPrefix(c, "xdsproxy run --files"):
			until[c] = "grep -q watching log"
		case strings.HasPrefix(c, "xdsproxy run"):
			until[c] = "grep -q listening log"
		}
	}
	if len(until) < 9 {
		t.Errorf("only %d commands were found", len(until))
	}
	typePage(t, s, page, until, nil, func(c string) string { return c })

	// The parts of a bootstrap, of Envoy and of gRPC.
	s.files(t, page, "yaml")
	s.files(t, page, "json")
	in := "xdsproxy run --headless --listen 127.0.0.1:18000 --upstream 127.0.0.1:15010 -w "
	for _, c := range []struct{ proxy, peer, wait string }{
		{in + "envoy.xdsp", "(sed '/^static_resources/,$d; s/cluster_name: xds/&_cluster/' envoy.yaml; cat 1.yaml) >theirs.yaml; envoy -c theirs.yaml", "grep -q nack-received log"},
		{in + "grpc.xdsp", "GRPC_XDS_BOOTSTRAP=1.json python3 client.py echo", "xdsproxy status grpc.xdsp | grep -q my-client"},
	} {
		out, code := s.lasting(t, "{ ("+c.peer+") >peer.log 2>&1 & exec "+c.proxy+"; }", c.wait)
		if code != "0" {
			t.Errorf("%s: exit code %s\n%s\n%s", c.peer, code, out, s.must(t, "cat peer.log"))
		}
	}
	if out, code := s.do(t, "touch root-cert.pem; xdsproxy config --config 3.yaml"); code != "0" {
		t.Errorf("the settings of the page: exit code %s\n%s", code, out)
	}
}

// What docs/reading.md has to read, and to play again: a gateway whose second listener
// is rejected, by a real Envoy.
func TestPageReading(t *testing.T) {
	t.Parallel()
	const page = "../../docs/reading.md"
	s := newcomer(t)
	s.must(t, `cat >good.xds <<'END'
C> type=CDS V= N= R=[] node=gw-0
S< type=CDS V=1 N=a res=[web]
C> type=CDS V=1 N=a R=[]
C> type=LDS V= N= R=[]
S< type=LDS V=1 N=b res=[0.0.0.0_443]
C> type=LDS V=1 N=b R=[]
END
cp good.xds plane.xds
cat >>plane.xds <<'END'
S< type=LDS V=2 N=c res=[0.0.0.0_443#pgv-bad]
C> type=LDS V=1 N=c R=[] err="no"
END
for f in good.xds plane.xds; do echo 'C> type=SDS V= N= R=[never]' >>$f; done
xdsproxy replay good.xds --as server --listen 127.0.0.1:15010 --idle 5m >plane.log 2>&1 &
sed -i 's/id: web-1/id: gw-0/' envoy.yaml
sed 's/15010/18000/; /^admin/d' envoy.yaml >beside.yaml
`)
	if out, code := s.lasting(t, "xdsproxy wrap -w good.xdsp envoy -c envoy.yaml", "xdsproxy status good.xdsp | grep -q 'gw-0.*SYNCED.*SYNCED'"); code != "0" {
		t.Fatalf("exit code %s\n%s", code, out)
	}
	s.must(t, planes)
	for _, name := range []string{"bad.xdsp", "bug.xdsp"} {
		if out, code := s.lasting(t, "xdsproxy wrap -w "+name+" envoy -c envoy.yaml", "grep -q nack-received log"); code != "0" {
			t.Fatalf("exit code %s\n%s", code, out)
		}
	}
	// There is a second control plane that says the same, and @last is written to.
	s.must(t, strings.Replace(planes, "15010", "15011", 1))
	s.must(t, `xdsproxy wrap envoy -c envoy.yaml >last.log 2>&1 &
until grep -qs nack-received last.log; do sleep 0.2; done
`)
	bad := strings.TrimSpace(s.must(t, "xdsproxy watch bug.xdsp --no-follow -o jsonl --filter kind:nack | jq .seq"))
	sent := strings.TrimSpace(s.must(t, "xdsproxy watch bug.xdsp --no-follow -o jsonl --filter kind:resp | jq .seq | tail -1"))
	peer := "envoy -c beside.yaml"
	typePage(t, s, page, map[string]string{
		"xdsproxy watch @last": "grep -q gw-0 log",
		"xdsproxy watch @last --filter 'client:gw-* type:cds,eds -kind:ack'":         "grep -q gw-0 log",
		"xdsproxy run --upstream istiod.istio-system:15010 --viewer 127.0.0.1:19000": "grep -q XDSPROXY_VIEWER_TOKEN log",
	}, map[string]string{
		"xdsproxy replay bug.xdsp --as server --listen 127.0.0.1:18000":     peer,
		"xdsproxy bisect bug.xdsp 412 --listen 127.0.0.1:18000":             peer,
		"xdsproxy replay bug-411.xdsp --as server --listen 127.0.0.1:18000": peer,
	}, strings.NewReplacer("412", bad, "411", sent,
		"xdsproxy report @last", "xdsproxy report @last --yes", // a person is asked
		"--as client --target 127.0.0.1:15010", "--as client --target 127.0.0.1:15011", // the other has a client
	).Replace)
}
