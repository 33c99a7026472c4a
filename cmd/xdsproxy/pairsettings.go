package main

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strconv"

	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
)

// pairConfig is what belongs to one listener and the upstream behind it, apart
// from their addresses.
type pairConfig struct {
	tlsCert, tlsKey string
	tlsCADir        string
	tlsClientCA     string
	tlsClientAuth   string

	upstreamTLS               boolValue
	upstreamCA                string
	upstreamServerName        string
	upstreamCert, upstreamKey string
	upstreamInsecure          boolValue

	tlsMinVersion string
	tlsKeyLog     string

	upstreamAuthority      string
	header, headerFromFile []string
}

const (
	groupClientTLS   = "TLS towards clients"
	groupUpstreamTLS = "TLS towards the control plane"
	groupTLS         = "TLS on both sides"
	groupHeaders     = "Headers of requests"
)

// The words of --tls-client-auth and --tls-min-version.
var (
	clientAuths = []string{"none", "request", "require"}
	tlsVersions = []string{"1.2", "1.3"}
)

// pairSettings sets the defaults and returns the table, bound to c.
func (c *pairConfig) pairSettings() []*setting {
	*c = pairConfig{tlsClientAuth: "none", tlsMinVersion: "1.2"}
	table := []*setting{
		{
			name: "tls-cert", group: groupClientTLS, value: textValue{&c.tlsCert, "FILE"},
			help: "speak TLS with clients, and show them this certificate, with the chain behind it (PEM)",
		},
		{
			name: "tls-key", group: groupClientTLS, value: textValue{&c.tlsKey, "FILE"},
			help: "the key of --tls-cert (PEM)",
		},
		{
			name: "tls-ca-dir", group: groupClientTLS, value: textValue{&c.tlsCADir, "DIR"},
			help: "speak TLS with clients, and sign a certificate for each name that they ask for, with an authority of one's own, which is made in this directory if it is not there",
		},
		{
			name: "tls-client-auth", group: groupClientTLS, value: choiceValue{&c.tlsClientAuth, clientAuths},
			help: "whether clients are asked for a certificate, or must show one, as they must with --tls-client-ca",
		},
		{
			name: "tls-client-ca", group: groupClientTLS, value: textValue{&c.tlsClientCA, "FILE"},
			help: "take only client certificates that one of these roots has signed (PEM)",
		},
		{
			name: "upstream-tls", group: groupUpstreamTLS, value: &c.upstreamTLS,
			help: "speak TLS with the control plane; each of the following asks for it, too",
		},
		{
			name: "upstream-ca", group: groupUpstreamTLS, value: textValue{&c.upstreamCA, "FILE"},
			help: "take only a certificate that one of these roots has signed (PEM), instead of those of the system",
		},
		{
			name: "upstream-server-name", group: groupUpstreamTLS, value: textValue{&c.upstreamServerName, "NAME"},
			help: "whom the certificate must name, and whom SNI asks for, instead of the host of --upstream",
		},
		{
			name: "upstream-cert", group: groupUpstreamTLS, value: textValue{&c.upstreamCert, "FILE"},
			help: "show the control plane this certificate, with the chain behind it (PEM)",
		},
		{
			name: "upstream-key", group: groupUpstreamTLS, value: textValue{&c.upstreamKey, "FILE"},
			help: "the key of --upstream-cert (PEM)",
		},
		{
			name: "upstream-insecure-skip-verify", group: groupUpstreamTLS, value: &c.upstreamInsecure,
			help: "take any certificate, whoever signed it, for whatever name",
		},
		{
			name: "tls-min-version", group: groupTLS, value: choiceValue{&c.tlsMinVersion, tlsVersions},
			help: "speak no older version",
		},
		{
			name: "tls-key-log", group: groupTLS, value: textValue{&c.tlsKeyLog, "FILE"},
			help: "append the keys of every connection to this file, by which Wireshark, and whoever has it, can read them",
		},
		{
			name: "upstream-authority", group: groupHeaders, value: textValue{&c.upstreamAuthority, "NAME"},
			help: "put this in the place of :authority, by which servers and what is in front of them choose",
		},
		{
			name: "header", group: groupHeaders, value: headersValue{newMany(&c.header, "NAME=VALUE", checkHeader)},
			help: "set a header field of each request; repeat it for several; not for secrets, which others see in the list of processes",
		},
		{
			name: "header-from-file", group: groupHeaders, value: newMany(&c.headerFromFile, "NAME=FILE", checkHeaderFile),
			help: "set a header field to what this file holds, such as authorization=FILE; read again when it changes; its value is never recorded",
		},
	}
	for _, s := range table {
		s.run, s.pair, s.origin = true, true, fromDefault
	}
	return table
}

// pairTable is a table of pair settings, by name.
type pairTable []*setting

func (t pairTable) of(name string) *setting {
	return t[slices.IndexFunc(t, func(s *setting) bool { return s.name == name })]
}

// given says whether somebody gave the setting a value that is not empty.
func (t pairTable) given(name string) bool {
	s := t.of(name)
	if s.origin == fromDefault {
		return false
	}
	switch v := s.value.(type) {
	case *boolValue:
		return bool(*v)
	default:
		return v.String() != ""
	}
}

// strongest is the one of the settings that are given whose origin wins over
// those of the others; nil if none is.
func (t pairTable) strongest(names ...string) *setting {
	var best *setting
	for _, n := range names {
		if s := t.of(n); t.given(n) && (best == nil || s.strength() > best.strength()) {
			best = s
		}
	}
	return best
}

// strength orders origins: of two settings that contradict each other, the
// stronger one counts.
func (s *setting) strength() int {
	switch {
	case s.origin == fromFlag:
		return 4
	case s.origin == fromEnvironment:
		return 3
	case s.origin == fromFile && s.own:
		return 2
	case s.origin == fromFile:
		return 1
	}
	return 0
}

// said names a setting as whoever gave it wrote it.
func (s *setting) said() string {
	switch {
	case s.origin == fromEnvironment:
		return s.variable()
	case s.origin == fromFile && s.own:
		return strconv.Quote(s.name)
	case s.origin == fromFile:
		return fmt.Sprintf("%q of %s", s.name, s.from)
	}
	return "--" + s.name
}

// missing names a setting that should have been given beside s.
func (s *setting) missing(name string) string {
	if s.origin == fromFile {
		return strconv.Quote(name)
	}
	return "--" + name
}

// settle makes the table say what is in effect: what one setting implies for
// another, and which of two that contradict each other counts.
func (t pairTable) settle(c *pairConfig) error {
	if err := t.settleClients(c); err != nil {
		return err
	}
	return t.settleUpstream(c)
}

func (t pairTable) settleClients(c *pairConfig) error {
	cert, key, dir := t.of("tls-cert"), t.of("tls-key"), t.of("tls-ca-dir")
	switch {
	case c.tlsCert == "" || c.tlsCADir == "":
	case cert.strength() == dir.strength():
		return misused("%s and %s: clients can be shown one or the other", cert.said(), dir.said()).
			hint("--tls-cert is a certificate that you have, --tls-ca-dir an authority that makes one for each name")
	case cert.strength() > dir.strength():
		dir.drop(cert)
	default:
		cert.drop(dir)
		if c.tlsKey != "" {
			key.drop(dir)
		}
	}
	if err := t.together(cert, key); err != nil {
		return err
	}
	auth, ca := t.of("tls-client-auth"), t.of("tls-client-ca")
	switch {
	case c.tlsClientCA == "":
	case auth.origin == fromDefault:
		auth.imply("require", ca)
	case c.tlsClientAuth != "none":
	case auth.strength() == ca.strength():
		return misused("%s none and %s: no certificate is asked for that could be verified", auth.said(), ca.said()).
			hint("leave one out, or say --tls-client-auth request or require")
	case auth.strength() > ca.strength():
		ca.drop(auth)
	default:
		auth.imply("require", ca)
	}
	return nil
}

// upstreamTLSSettings are those that ask for TLS with the control plane.
var upstreamTLSSettings = []string{"upstream-ca", "upstream-server-name", "upstream-cert", "upstream-key", "upstream-insecure-skip-verify"}

func (t pairTable) settleUpstream(c *pairConfig) error {
	asked, by := t.of("upstream-tls"), t.strongest(upstreamTLSSettings...)
	switch {
	case by == nil || bool(c.upstreamTLS):
	case asked.origin == fromDefault || by.strength() > asked.strength():
		asked.imply("true", by)
	case asked.strength() == by.strength():
		return misused("%s is off, and %s asks for it", asked.said(), by.said()).hint("leave one out")
	default:
		for _, n := range upstreamTLSSettings {
			t.of(n).drop(asked)
		}
	}
	return t.together(t.of("upstream-cert"), t.of("upstream-key"))
}

// together says what is missing of a certificate and its key.
func (t pairTable) together(cert, key *setting) error {
	a, b := cert.value.String(), key.value.String()
	switch {
	case a != "" && b == "":
		return misused("%s without %s", cert.said(), cert.missing(key.name)).hint("if one file holds both, name it twice")
	case a == "" && b == "":
	case a == "" && cert.strength() > key.strength():
		key.drop(cert) // the certificate was taken away
	case a == "":
		return misused("%s without %s", key.said(), key.missing(cert.name)).hint("if one file holds both, name it twice")
	}
	return nil
}

// imply sets the value that another setting calls for.
func (s *setting) imply(text string, by *setting) {
	_ = s.take([]string{text}) // a value of our own
	s.origin, s.from, s.own = implied, by.name, false
}

// drop takes the value away that a stronger setting leaves no room for.
func (s *setting) drop(by *setting) {
	text := ""
	if _, is := s.value.(*boolValue); is {
		text = "false"
	}
	s.imply(text, by)
}

// listenTLS is how a listener with these settings speaks TLS; nil: it does not.
// The key log is left to the one who opens it.
func (c *pairConfig) listenTLS() *proxy.ListenTLS {
	if c.tlsCert == "" && c.tlsCADir == "" {
		return nil
	}
	return &proxy.ListenTLS{
		Cert: c.tlsCert, Key: c.tlsKey, CADir: c.tlsCADir,
		ClientCA:   c.tlsClientCA,
		ClientAuth: proxy.ClientAuth(slices.Index(clientAuths, c.tlsClientAuth)),
		Versions:   c.versions(),
	}
}

// dialTLS is how TLS is spoken with the control plane; nil: it is not.
func (c *pairConfig) dialTLS() *proxy.UpstreamTLS {
	if !c.upstreamTLS {
		return nil
	}
	return &proxy.UpstreamTLS{
		CA: c.upstreamCA, ServerName: c.upstreamServerName,
		Cert: c.upstreamCert, Key: c.upstreamKey,
		Insecure: bool(c.upstreamInsecure),
		Versions: c.versions(),
	}
}

func (c *pairConfig) versions() proxy.Versions {
	v := proxy.Versions{Min: tls.VersionTLS12, Max: tls.VersionTLS13}
	if c.tlsMinVersion == "1.3" {
		v.Min = tls.VersionTLS13
	}
	return v
}

// own are the settings that the file gives to one listener only.
func (t pairTable) own() pairTable {
	var own pairTable
	for _, s := range t {
		if s.own {
			own = append(own, s)
		}
	}
	return own
}

// unused finds a setting of TLS that was asked for on purpose, by a flag or for
// one listener, and that no pair has a use for. What is said for all, in the
// environment or in the file, need not concern all.
func (t pairTable) unused(pairs []proxy.Pair) error {
	clients := slices.ContainsFunc(pairs, func(p proxy.Pair) bool { return p.ListenTLS != nil })
	upstream := slices.ContainsFunc(pairs, func(p proxy.Pair) bool { return p.UpstreamTLS != nil })
	for _, s := range t {
		if s.origin != fromFlag && !s.own || s.value.String() == "" {
			continue
		}
		switch {
		case s.group == groupClientTLS && !clients:
			return misused("%s without TLS towards clients", s.said()).hint("--tls-cert and --tls-key, or --tls-ca-dir, switch that on")
		case s.group == groupTLS && !clients && !upstream:
			return misused("%s without TLS on any side", s.said()).
				hint("--tls-cert and --tls-key, or --tls-ca-dir, switch it on towards clients, --upstream-tls towards the control plane")
		}
	}
	return nil
}

func checkHeader(s string) error {
	_, err := rewrite.ParseHeader(s)
	return err
}

func checkHeaderFile(s string) error {
	_, err := rewrite.ParseHeaderFile(s)
	return err
}

// rewriting is what is changed in the headers of requests; nil: nothing.
func (c *pairConfig) rewriting() (*rewrite.Rules, error) {
	rules := &rewrite.Rules{Authority: c.upstreamAuthority}
	for _, s := range c.header {
		h, err := rewrite.ParseHeader(s)
		if err != nil {
			return nil, err
		}
		rules.Headers = append(rules.Headers, h)
	}
	for _, s := range c.headerFromFile {
		h, err := rewrite.ParseHeaderFile(s)
		if err != nil {
			return nil, err
		}
		rules.Headers = append(rules.Headers, h)
	}
	if rules.Authority == "" && len(rules.Headers) == 0 {
		return nil, nil
	}
	return rules, rules.Check()
}
