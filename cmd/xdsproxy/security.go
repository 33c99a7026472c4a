package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/proxy/mint"
)

// announceSecurity says what of the TLS of the pairs a person must know: whose
// certificate is not verified, who else could read what passes, and whom clients
// have to trust.
func (a *app) announceSecurity(pairs []proxy.Pair) {
	for _, k := range keyLogsOf(pairs) {
		a.warn("--tls-key-log: whoever can read %q can decrypt what passes; delete it when you are done", k.path)
	}
	told := map[string]bool{}
	for _, p := range pairs {
		if u := p.UpstreamTLS; u != nil && u.Insecure {
			a.warn("--upstream-insecure-skip-verify: the certificate of %s is not verified; whoever answers there is believed", p.Upstream)
		}
		if l := p.ListenTLS; l != nil && l.Cert == "" && !told[l.CADir] {
			told[l.CADir] = true
			a.sayTrust(l.CADir)
		}
	}
}

// sayTrust says how clients come to trust the authority of a directory.
func (a *app) sayTrust(dir string) {
	root, err := filepath.Abs(filepath.Join(dir, mint.CertFile))
	if err != nil {
		root = filepath.Join(dir, mint.CertFile)
	}
	quoted, _ := json.Marshal(root) // a string can always be written
	a.say("clients have to trust %s, which signs the certificates that they are shown:", render.Safe(root))
	for _, way := range [][2]string{
		{"Envoy", fmt.Sprintf("common_tls_context: {validation_context: {trusted_ca: {filename: %s}}}", quoted)},
		{"gRPC", fmt.Sprintf(`"channel_creds": [{"type": "tls", "config": {"ca_certificate_file": %s}}]`, quoted)},
		{"istio-agent", "XDS_ROOT_CA=" + shellWord(root)},
	} {
		a.say("  %-12s %s", way[0], render.Safe(way[1]))
	}
}
