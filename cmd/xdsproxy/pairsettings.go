package main

import (
	"crypto/tls"
	"slices"

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

// bind sets the defaults and returns the table, bound to c.
func (c *pairConfig) bind() []*setting {
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
