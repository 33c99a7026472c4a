package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

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
	case auth.origin == fromDefault:
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

func (t pairTable) settleUpstream(c *pairConfig) error {
	asked, by := t.of("upstream-tls"), t.strongest(upstreamTLSSettings...)
	switch {
	case by == nil || bool(c.upstreamTLS):
	case asked.origin == fromDefault || by.strength() > asked.strength():
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
func (t pairTable) together(cert, key *setting) error {
	a, b := cert.value.String(), key.value.String()
	switch {
	case a != "" && b == "":
		return console.Misused("%s without %s", cert.said(), cert.missing(key.name)).Hint("if one file holds both, name it twice")
	case a == "" && b == "":
	case a == "" && cert.strength() > key.strength():
		key.drop(cert) // the certificate was taken away
	case a == "":
		return console.Misused("%s without %s", key.said(), key.missing(cert.name)).Hint("if one file holds both, name it twice")
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
			return console.Misused("%s without TLS towards clients", s.said()).Hint("--tls-cert and --tls-key, or --tls-ca-dir, switch that on")
		case s.group == groupTLS && !clients && !upstream:
			return console.Misused("%s without TLS on any side", s.said()).
				Hint("--tls-cert and --tls-key, or --tls-ca-dir, switch it on towards clients, --upstream-tls towards the control plane")
		}
	}
	return nil
}
