package bootstrap

import (
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// contexts reads TLS contexts of Envoy. What it does not know could be what a
// client's trust hangs on, so it takes nothing with a field that it does not
// know.
type contexts struct {
	root  *yaml.Node // of the bootstrap, which may have secrets
	files *files
	warn  func(format string, args ...any)
}

// context is an UpstreamTlsContext, as far as it is the same for all endpoints.
type context struct {
	TLS
	hostSNI bool // the server name is that of the endpoint, if it has one
	sniSAN  bool // the certificate has to be for the server name
}

// of is how an endpoint is reached. The host is its name, if it has one.
func (c *context) of(host string) (*TLS, error) {
	t := c.TLS
	if c.hostSNI && host != "" {
		t.ServerName = host
	}
	if c.sniSAN {
		if t.ServerName == "" {
			return nil, unreadf("it validates its server name (auto_sni_san_validation), but has none")
		}
		t.Names = append(t.Names[:len(t.Names):len(t.Names)], Name{Kind: DNS, How: Exact, Text: t.ServerName})
	}
	if t.AnyRoot && len(t.Names) > 0 {
		return nil, unreadf("it looks at names, but at no root (trusted_ca), which Envoy refuses")
	}
	return &t, nil
}

// unread is why a TLS context cannot be spoken for.
type unread struct{ why string }

func (e *unread) Error() string { return e.why }

func unreadf(format string, args ...any) error { return &unread{fmt.Sprintf(format, args...)} }

// only refuses a message with a field that is none of these, or that is none.
func only(n *yaml.Node, message string, fields ...string) error {
	switch {
	case n == nil || n.ShortTag() == "!!null":
		return nil
	case n.Kind != yaml.MappingNode:
		return unreadf("its %s is no message", message)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if name := snake(key.Value); !lenient.Ignored(key) && value.ShortTag() != "!!null" && !slices.Contains(fields, name) && key.Value != "@type" {
			return unreadf("its TLS context has %s, which xdsproxy does not take over", name)
		}
	}
	return nil
}

// on says whether a flag is set; what is neither true nor false counts as set.
func on(n *yaml.Node) bool {
	switch strings.ToLower(text(n)) {
	case "", "false", "f", "no", "off", "n", "0":
		return false
	}
	return true
}

// upstream reads an UpstreamTlsContext.
func (r contexts) upstream(n *yaml.Node) (*context, error) {
	err := only(n, "TLS context", "common_tls_context", "sni", "auto_host_sni", "auto_sni_san_validation",
		"allow_renegotiation", "max_session_keys", "enforce_rsa_key_usage")
	if err != nil {
		return nil, err
	}
	ctx := &context{
		TLS: TLS{ServerName: text(field(n, "sni"))}, hostSNI: on(field(n, "auto_host_sni")), sniSAN: on(field(n, "auto_sni_san_validation")),
	}
	t := &ctx.TLS
	c := field(n, "common_tls_context")
	err = only(c, "common_tls_context", "tls_params", "tls_certificates", "tls_certificate_sds_secret_configs",
		"validation_context", "validation_context_sds_secret_config", "combined_validation_context", "alpn_protocols", "key_log")
	if err == nil {
		err = r.parameters(field(c, "tls_params"), t)
	}
	if err == nil {
		err = r.own(c, t)
	}
	if err == nil {
		err = r.trust(c, t)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range items(field(c, "alpn_protocols")) {
		if text(p) != "h2" && text(p) != "http/1.1" {
			return nil, unreadf("it asks for the protocol %q by ALPN", text(p))
		}
	}
	return ctx, nil
}

// parameters reads which versions are spoken.
func (r contexts) parameters(n *yaml.Node, t *TLS) error {
	err := only(n, "tls_params", "tls_minimum_protocol_version", "tls_maximum_protocol_version",
		"cipher_suites", "ecdh_curves", "signature_algorithms", "compliance_policies")
	if err != nil {
		return err
	}
	version := func(name string) (uint16, error) {
		switch v := word(field(n, name)); v {
		case "", "TLS_AUTO", "0":
			return 0, nil
		case "TLSV1_0", "TLSV1_1", "1", "2":
			return tls.VersionTLS11, nil
		case "TLSV1_2", "3":
			return tls.VersionTLS12, nil
		case "TLSV1_3", "4":
			return tls.VersionTLS13, nil
		default:
			return 0, unreadf("its %s is %q", name, text(field(n, name)))
		}
	}
	if t.Min, err = version("tls_minimum_protocol_version"); err != nil {
		return err
	}
	if t.Max, err = version("tls_maximum_protocol_version"); err != nil {
		return err
	}
	if t.Max == tls.VersionTLS11 {
		return unreadf("it speaks no TLS from 1.2 on")
	}
	if t.Min == tls.VersionTLS11 {
		t.Min = 0 // older than 1.2 is spoken with nobody
	}
	for _, name := range []string{"cipher_suites", "ecdh_curves", "signature_algorithms", "compliance_policies"} {
		if len(items(field(n, name))) > 0 {
			r.warn("its TLS context has %s; the proxy speaks TLS with those of its own", name)
		}
	}
	return nil
}

// own reads what Envoy shows of itself.
func (r contexts) own(c *yaml.Node, t *TLS) error {
	certificates := items(field(c, "tls_certificates"))
	for _, s := range items(field(c, "tls_certificate_sds_secret_configs")) {
		secret, err := r.secret(s, "tls_certificate")
		if err != nil {
			return err
		}
		certificates = append(certificates, secret)
	}
	switch len(certificates) {
	case 0:
		return nil
	case 1:
	default:
		return unreadf("it has %d certificates to choose from", len(certificates))
	}
	n := certificates[0]
	err := only(n, "tls_certificate", "certificate_chain", "private_key", "watched_directory", "ocsp_staple", "signed_certificate_timestamp")
	if err == nil {
		t.Cert, err = material(field(n, "certificate_chain"), "certificate_chain")
	}
	if err == nil {
		t.Key, err = material(field(n, "private_key"), "private_key")
	}
	if err == nil && t.Cert.Given() != t.Key.Given() {
		err = unreadf("of its certificate and its key there is only one")
	}
	return err
}

// trust reads which certificates of the server Envoy takes.
func (r contexts) trust(c *yaml.Node, t *TLS) error {
	combined := field(c, "combined_validation_context")
	if err := only(combined, "combined_validation_context", "default_validation_context", "validation_context_sds_secret_config"); err != nil {
		return err
	}
	parts := []*yaml.Node{field(c, "validation_context"), field(combined, "default_validation_context")}
	for _, s := range []*yaml.Node{field(c, "validation_context_sds_secret_config"), field(combined, "validation_context_sds_secret_config")} {
		if s == nil || s.ShortTag() == "!!null" {
			continue
		}
		secret, err := r.secret(s, "validation_context")
		if err != nil {
			return err
		}
		parts = append(parts, secret)
	}
	t.AnyRoot = true
	for _, p := range parts { // later ones win, and add to lists, as messages are merged
		if err := t.validation(p); err != nil {
			return err
		}
	}
	return nil
}

// validation reads one CertificateValidationContext.
func (t *TLS) validation(n *yaml.Node) error {
	err := only(n, "validation_context", "trusted_ca", "watched_directory", "system_root_certs", "verify_certificate_spki",
		"verify_certificate_hash", "match_typed_subject_alt_names", "match_subject_alt_names", "trust_chain_verification",
		"allow_expired_certificate")
	if err != nil {
		return err
	}
	ca, err := material(field(n, "trusted_ca"), "trusted_ca")
	switch {
	case err != nil:
		return err
	case ca.Given():
		t.CA, t.AnyRoot = ca, false
	case given(n, "system_root_certs") != nil:
		t.AnyRoot = false
	}
	switch how := word(field(n, "trust_chain_verification")); how {
	case "", "VERIFY_TRUST_CHAIN", "0":
	default:
		return unreadf("its trust_chain_verification is %s, which xdsproxy does not take over", how)
	}
	if on(field(n, "allow_expired_certificate")) {
		return unreadf("it takes expired certificates (allow_expired_certificate), which xdsproxy does not")
	}
	for _, v := range items(field(n, "verify_certificate_spki")) {
		pin, ok := pinOfKey(text(v))
		if !ok {
			return unreadf("its verify_certificate_spki has %q, which is no SHA-256 in base 64", text(v))
		}
		t.Pins = append(t.Pins, pin)
	}
	for _, v := range items(field(n, "verify_certificate_hash")) {
		pin, ok := pinOfCertificate(text(v))
		if !ok {
			return unreadf("its verify_certificate_hash has %q, which is no SHA-256 in hexadecimal", text(v))
		}
		t.Pins = append(t.Pins, pin)
	}
	for _, m := range items(field(n, "match_typed_subject_alt_names")) {
		kind, err := nameKind(m)
		if err != nil {
			return err
		}
		name, err := matcher(field(m, "matcher"))
		if err != nil {
			return err
		}
		name.Kind = kind
		t.Names = append(t.Names, name)
	}
	for _, m := range items(field(n, "match_subject_alt_names")) { // of any type: the older form
		name, err := matcher(m)
		if err != nil {
			return err
		}
		for _, kind := range []NameKind{DNS, URI, Email, IP} {
			name.Kind = kind
			t.Names = append(t.Names, name)
		}
	}
	return nil
}

func nameKind(m *yaml.Node) (NameKind, error) {
	switch kind := word(field(m, "san_type")); kind {
	case "EMAIL", "1":
		return Email, nil
	case "DNS", "2":
		return DNS, nil
	case "URI", "3":
		return URI, nil
	case "IP_ADDRESS", "4":
		return IP, nil
	default:
		return "", unreadf("it matches names of type %q, which xdsproxy does not take over", kind)
	}
}

// matcher reads a StringMatcher.
func matcher(m *yaml.Node) (Name, error) {
	if err := only(m, "matcher", "exact", "prefix", "suffix", "contains", "safe_regex", "ignore_case"); err != nil {
		return Name{}, err
	}
	n := Name{Fold: on(field(m, "ignore_case"))}
	for _, how := range []How{Exact, Prefix, Suffix, Contains} {
		if v := given(m, string(how)); v != nil {
			n.How, n.Text = how, text(v)
		}
	}
	if re := given(m, "safe_regex"); re != nil {
		n.How, n.Text = Regex, text(field(re, "regex"))
		if _, err := wholly(n.Text); err != nil {
			return Name{}, unreadf("it matches names by %q, which is no regular expression here", lenient.Clipped(n.Text))
		}
	}
	if n.How == "" || n.Text == "" && n.How != Exact {
		return Name{}, unreadf("it matches names by nothing")
	}
	return n, nil
}

// material reads a DataSource.
func material(n *yaml.Node, what string) (Material, error) {
	if err := only(n, what, "filename", "inline_string", "inline_bytes", "environment_variable", "watched_directory"); err != nil {
		return Material{}, err
	}
	m := Material{
		File: text(field(n, "filename")), Variable: text(field(n, "environment_variable")), Inline: text(field(n, "inline_string")),
	}
	if b := text(field(n, "inline_bytes")); b != "" {
		decoded, err := bytesOf(b)
		if err != nil {
			return Material{}, unreadf("its %s has inline_bytes that are not in base 64", what)
		}
		m.Inline = string(decoded)
	}
	forms := 0
	for _, s := range []string{m.File, m.Variable, m.Inline} {
		if s != "" {
			forms++
		}
	}
	switch {
	case n == nil || n.ShortTag() == "!!null" || forms == 1:
		return m, nil
	case forms == 0:
		return Material{}, unreadf("its %s is empty", what)
	}
	return Material{}, unreadf("its %s is given twice", what)
}

// bytesOf decodes base 64 in all forms that protobuf's JSON has.
func bytesOf(s string) ([]byte, error) {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	return base64.RawStdEncoding.DecodeString(s)
}
