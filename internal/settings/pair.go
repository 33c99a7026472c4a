package settings

import (
	"crypto/tls"
	"slices"

	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
)

// pairValues is what belongs to one listener and the upstream behind it, apart
// from their addresses.
type pairValues struct {
	tlsCert, tlsKey string
	tlsCADir        string
	tlsClientCA     string
	tlsClientAuth   string

	upstreamTLS               Bool
	upstreamCA                string
	upstreamServerName        string
	upstreamCert, upstreamKey string
	upstreamInsecure          Bool

	tlsMinVersion string
	tlsKeyLog     string

	upstreamAuthority      string
	header, headerFromFile []string
}

const (
	GroupClientTLS   = "TLS towards clients"
	GroupUpstreamTLS = "TLS towards the control plane"
	GroupTLS         = "TLS on both sides"
	GroupHeaders     = "Headers of requests"
)

// The words of --tls-client-auth and --tls-min-version.
var (
	clientAuths = []string{"none", "request", "require"}
	tlsVersions = []string{"1.2", "1.3"}
)

// bind sets the defaults and returns the table, bound to c.
func (c *pairValues) bind() []*Setting {
	*c = pairValues{tlsClientAuth: "none", tlsMinVersion: "1.2"}
	table := []*Setting{
		row(GroupClientTLS, "tls-cert", Text{&c.tlsCert, "FILE"},
			"speak TLS with clients, and show them this certificate, with the chain behind it (PEM)"),
		row(GroupClientTLS, "tls-key", Text{&c.tlsKey, "FILE"},
			"the key of --tls-cert (PEM)"),
		row(GroupClientTLS, "tls-ca-dir", Text{&c.tlsCADir, "DIR"},
			"speak TLS with clients, and sign a certificate for each name that they ask for, with an authority of one's own, which is made in this directory if it is not there"),
		row(GroupClientTLS, "tls-client-auth", Choice{&c.tlsClientAuth, clientAuths},
			"whether clients are asked for a certificate, or must show one, as they must with --tls-client-ca"),
		row(GroupClientTLS, "tls-client-ca", Text{&c.tlsClientCA, "FILE"},
			"take only client certificates that one of these roots has signed (PEM)"),
		row(GroupUpstreamTLS, "upstream-tls", &c.upstreamTLS,
			"speak TLS with the control plane; each of the following asks for it, too"),
		row(GroupUpstreamTLS, "upstream-ca", Text{&c.upstreamCA, "FILE"},
			"take only a certificate that one of these roots has signed (PEM), instead of those of the system"),
		row(GroupUpstreamTLS, "upstream-server-name", Text{&c.upstreamServerName, "NAME"},
			"whom the certificate must name, and whom SNI asks for, instead of the host of --upstream"),
		row(GroupUpstreamTLS, "upstream-cert", Text{&c.upstreamCert, "FILE"},
			"show the control plane this certificate, with the chain behind it (PEM)"),
		row(GroupUpstreamTLS, "upstream-key", Text{&c.upstreamKey, "FILE"},
			"the key of --upstream-cert (PEM)"),
		row(GroupUpstreamTLS, "upstream-insecure-skip-verify", &c.upstreamInsecure,
			"take any certificate, whoever signed it, for whatever name"),
		row(GroupTLS, "tls-min-version", Choice{&c.tlsMinVersion, tlsVersions},
			"speak no older version"),
		row(GroupTLS, "tls-key-log", Text{&c.tlsKeyLog, "FILE"},
			"append the keys of every connection to this file, by which Wireshark, and whoever has it, can read them"),
		row(GroupHeaders, "upstream-authority", Text{&c.upstreamAuthority, "NAME"},
			"put this in the place of :authority, by which servers and what is in front of them choose"),
		row(GroupHeaders, "header", headers{newMany(&c.header, "NAME=VALUE", checkHeader)},
			"set a header field of each request; repeat it for several; not for secrets, which others see in the list of processes"),
		row(GroupHeaders, "header-from-file", newMany(&c.headerFromFile, "NAME=FILE", checkHeaderFile),
			"set a header field to what this file holds, such as authorization=FILE; read again when it changes; its value is never recorded"),
	}
	for _, s := range table {
		s.pair = true
	}
	return table
}

// listenTLS is how a listener with these settings speaks TLS; nil: it does not.
// The key log is left to the one who opens it.
func (c *pairValues) listenTLS() *proxy.ListenTLS {
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
func (c *pairValues) dialTLS() *proxy.UpstreamTLS {
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

func (c *pairValues) versions() proxy.Versions {
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
func (c *pairValues) rewriting() (*rewrite.Rules, error) {
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
