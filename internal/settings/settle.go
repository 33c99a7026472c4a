package settings

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// pairTable is a table of pair settings, by name.
type pairTable []*Setting

func (t pairTable) of(name string) *Setting {
	return t[slices.IndexFunc(t, func(s *Setting) bool { return s.Name == name })]
}

// given says whether somebody gave the setting a value that is not empty.
func (t pairTable) given(name string) bool {
	s := t.of(name)
	if s.Origin == fromDefault {
		return false
	}
	switch v := s.Value.(type) {
	case *Bool:
		return bool(*v)
	default:
		return v.String() != ""
	}
}

// strongest is the one of the settings that are given whose origin wins over
// those of the others; nil if none is.
func (t pairTable) strongest(names ...string) *Setting {
	var best *Setting
	for _, n := range names {
		if s := t.of(n); t.given(n) && (best == nil || s.strength() > best.strength()) {
			best = s
		}
	}
	return best
}

// strength orders origins: of two settings that contradict each other, the
// stronger one counts.
func (s *Setting) strength() int {
	switch {
	case s.Origin == fromFlag:
		return 4
	case s.Origin == fromEnvironment:
		return 3
	case s.Origin == fromFile && s.own:
		return 2
	case s.Origin == fromFile:
		return 1
	}
	return 0
}

// said names a setting as it was written: a variable, a flag, or a key of the file.
func (s *Setting) said() string {
	switch {
	case s.Origin == fromEnvironment:
		return s.Variable()
	case s.Origin == fromFile && s.own:
		return strconv.Quote(s.Name)
	case s.Origin == fromFile:
		return fmt.Sprintf("%q of %s", s.Name, s.From)
	}
	return "--" + s.Name
}

// missing names a setting that should have been given beside s.
func (s *Setting) missing(name string) string {
	if s.Origin == fromFile {
		return strconv.Quote(name)
	}
	return "--" + name
}

// settle makes the table say what is in effect: what one setting implies for
// another, and which of two that contradict each other counts.
func (t pairTable) settle(c *pairValues) error {
	if err := t.settleClients(c); err != nil {
		return err
	}
	return t.settleUpstream(c)
}

func (t pairTable) settleClients(c *pairValues) error {
	cert, key, dir := t.of("tls-cert"), t.of("tls-key"), t.of("tls-ca-dir")
	switch {
	case c.tlsCert == "" || c.tlsCADir == "":
	case cert.strength() == dir.strength():
		return console.Misused("%s and %s: clients can be shown one or the other", cert.said(), dir.said()).
			Hint("--tls-cert is a certificate that you have, --tls-ca-dir an authority that makes one for each name")
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
	case auth.Origin == fromDefault:
		auth.imply("require", ca)
	case c.tlsClientAuth != "none":
	case auth.strength() == ca.strength():
		return console.Misused("%s none and %s: no certificate is asked for that could be verified", auth.said(), ca.said()).
			Hint("leave one out, or say --tls-client-auth request or require")
	case auth.strength() > ca.strength():
		ca.drop(auth)
	default:
		auth.imply("require", ca)
	}
	return nil
}

// upstreamTLSSettings are those that ask for TLS with the control plane.
var upstreamTLSSettings = []string{"upstream-ca", "upstream-server-name", "upstream-cert", "upstream-key", "upstream-insecure-skip-verify"}

func (t pairTable) settleUpstream(c *pairValues) error {
	asked, by := t.of("upstream-tls"), t.strongest(upstreamTLSSettings...)
	switch {
	case by == nil || bool(c.upstreamTLS):
	case asked.Origin == fromDefault || by.strength() > asked.strength():
		asked.imply("true", by)
	case asked.strength() == by.strength():
		return console.Misused("%s is off, and %s asks for it", asked.said(), by.said()).Hint("leave one out")
	default:
		for _, n := range upstreamTLSSettings {
			t.of(n).drop(asked)
		}
	}
	return t.together(t.of("upstream-cert"), t.of("upstream-key"))
}

// together says what is missing of a certificate and its key.
func (t pairTable) together(cert, key *Setting) error {
	a, b := cert.Value.String(), key.Value.String()
	switch {
	case a != "" && b == "":
		return console.Misused("%s without %s", cert.said(), cert.missing(key.Name)).Hint("if one file holds both, name it twice")
	case a == "" && b == "":
	case a == "" && cert.strength() > key.strength():
		key.drop(cert) // the certificate was taken away
	case a == "":
		return console.Misused("%s without %s", key.said(), key.missing(cert.Name)).Hint("if one file holds both, name it twice")
	}
	return nil
}

// imply sets the value that another setting calls for.
func (s *Setting) imply(text string, by *Setting) {
	_ = s.take([]string{text}) // a value of our own
	s.Origin, s.From, s.own = Implied, by.Name, false
}

// drop takes the value away that a stronger setting leaves no room for.
func (s *Setting) drop(by *Setting) {
	text := ""
	if _, is := s.Value.(*Bool); is {
		text = "false"
	}
	s.imply(text, by)
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
		if s.Origin != fromFlag && !s.own || s.Value.String() == "" {
			continue
		}
		switch {
		case s.Group == GroupClientTLS && !clients:
			return console.Misused("%s without TLS towards clients", s.said()).Hint("--tls-cert and --tls-key, or --tls-ca-dir, switch that on")
		case s.Group == GroupTLS && !clients && !upstream:
			return console.Misused("%s without TLS on any side", s.said()).
				Hint("--tls-cert and --tls-key, or --tls-ca-dir, switch it on towards clients, --upstream-tls towards the control plane")
		}
	}
	return nil
}
