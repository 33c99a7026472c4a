package app

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/proxy/mint"
	"github.com/xdsproxy/xdsproxy/proxy/pemfile"
)

// AnnounceSecurity says what of the TLS of the pairs a person must know: whose
// certificate is not verified, who else could read what passes, and whom clients
// have to trust.
func (h *Host) AnnounceSecurity(pairs []proxy.Pair) {
	for _, k := range settings.KeyLogsOf(pairs) {
		h.Warn("--tls-key-log: whoever can read %q can decrypt what passes; delete it when you are done", k.Path)
	}
	told := map[string]bool{}
	for _, p := range pairs {
		if u := p.UpstreamTLS; u != nil {
			h.warnOfDates("--upstream-cert", u.Cert, u.Key, "the control plane")
		}
		if l := p.ListenTLS; l != nil {
			h.warnOfDates("--tls-cert", l.Cert, l.Key, "clients")
		}
		if u := p.UpstreamTLS; u != nil && u.Insecure {
			h.Warn("--upstream-insecure-skip-verify: the certificate of %s is not verified; whoever answers there is believed", p.Target())
		}
		if l := p.ListenTLS; l != nil && l.Cert == "" && !told[l.CADir] {
			told[l.CADir] = true
			h.sayTrust(l.CADir)
		}
	}
}

// warnOfDates warns of a certificate of one's own that the other side will
// refuse for its dates. That its files can be used was found before.
func (h *Host) warnOfDates(setting, cert, key, whom string) {
	if cert == "" {
		return
	}
	pair, err := pemfile.OpenPair(cert, key, func(error) {})
	if err != nil || pair.Get().Leaf == nil {
		return
	}
	leaf, now := pair.Get().Leaf, time.Now()
	switch {
	case now.After(leaf.NotAfter):
		h.Warn("%s: the certificate in %q expired on %s; %s will refuse it", setting, cert, leaf.NotAfter.UTC().Format(time.DateOnly), whom)
	case now.Before(leaf.NotBefore):
		h.Warn("%s: the certificate in %q is not valid before %s; %s will refuse it", setting, cert, leaf.NotBefore.UTC().Format(time.DateOnly), whom)
	}
}

// sayTrust says how clients come to trust the authority of a directory.
func (h *Host) sayTrust(dir string) {
	root := rootOf(dir)
	quoted, _ := json.Marshal(root) // a string can always be written
	h.Say("clients have to trust %s, which signs the certificates that they are shown:", root)
	for _, way := range [][2]string{
		{"Envoy", fmt.Sprintf("common_tls_context: {validation_context: {trusted_ca: {filename: %s}}}", quoted)},
		{"gRPC", fmt.Sprintf(`"channel_creds": [{"type": "tls", "config": {"ca_certificate_file": %s}}]`, quoted)},
		{"istio-agent", "XDS_ROOT_CA=" + console.ShellWord(root)},
	} {
		h.Say("  %-12s %s", way[0], way[1])
	}
}

// rootOf is what clients have to trust of the authority of a directory.
func rootOf(dir string) string {
	root := filepath.Join(dir, mint.CertFile)
	if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	return root
}
