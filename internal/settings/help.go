package settings

import (
	"fmt"
	"strings"
)

// fileExample is a configuration file that help prints, and that a test reads.
const fileExample = `# Two ways into the same control plane.
upstream: istiod.istio-system.svc:15012   # of every listener
upstream-ca: /etc/xdsproxy/root-cert.pem
max-size: 256MiB

listeners:
  - name: plaintext                       # what messages call it
    listen: 127.0.0.1:18000
  - name: mesh
    listen: :18443
    tls-ca-dir: /etc/xdsproxy/ca
    tls-client-ca: /etc/xdsproxy/clients.pem
    header-from-file: [authorization=/var/run/secrets/token]
  - listen: unix:/run/xdsproxy/staging.sock
    upstream: 127.0.0.1:15010
    upstream-tls: off
`

// FileHelp is the page of help about the configuration file.
func (ss *Settings) FileHelp() string {
	var b strings.Builder
	b.WriteString(`The configuration file is the one that --config or XDSPROXY_CONFIG names, else
xdsproxy/config.yaml in the XDG configuration directory; never a file of the
working directory. It is YAML: a mapping whose keys are the flags' names, with
values as flags take them, and lists for flags that may be repeated.

`)
	b.WriteString("  " + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(fileExample), "\n", "\n  "), "\n  \n", "\n\n"))
	b.WriteString(`

Listeners that differ stand under listeners, each with its own listen. Each may
set its other keys, too; a key that it does not set has the value of the top
level. If it sets a list, such as that of headers, this list takes the place of
the one at the top level. Without listeners, listen and upstream at the top
level are lists that pair up by order.

A flag or a variable of the environment counts for every listener, and more than
the file. One that says where to listen or what is upstream stands in for all
listeners of the file. Where two settings exclude each other, such as tls-cert
and tls-ca-dir, the one that counts more is in effect.

An unknown key, a key that stands twice, and a value that cannot be are errors.
xdsproxy config prints what is in effect, and where each value comes from, and
ends with 2 where run would refuse it. The file is read once, at the start.

`)
	var shared, own []string
	for _, s := range ss.Table {
		switch {
		case s.noFile:
		case s.pair || s.Name == "listen" || s.Name == "upstream":
			own = append(own, s.Name)
		default:
			shared = append(shared, s.Name)
		}
	}
	fmt.Fprintf(&b, "Keys of a listener, or of the top level for all; name is of a listener only:\n\n%s\n", wrapWords(append([]string{"name"}, own...)))
	fmt.Fprintf(&b, "Keys of the top level only:\n\n%s", wrapWords(append([]string{listenersKey}, shared...)))
	return b.String()
}

// HelpWidth is how wide help is.
const HelpWidth = 80

// wrapWords writes words in lines of the width of help.
func wrapWords(words []string) string {
	var b strings.Builder
	width := 0
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if width == 0 || width+1+len(w) > HelpWidth {
			if width > 0 {
				b.WriteString("\n")
			}
			b.WriteString(" ")
			width = 1
		}
		b.WriteString(" " + w)
		width += 1 + len(w)
	}
	b.WriteString("\n")
	return b.String()
}

// EnvironmentHelp is the page of help about the environment.
func (ss *Settings) EnvironmentHelp() string {
	var b strings.Builder
	b.WriteString(`A setting comes from the first of these that names it:

  1. a flag
  2. a variable of the environment
  3. the configuration file
  4. the default

Variables, with the flags that they stand for:

`)
	for _, s := range ss.Table {
		fmt.Fprintf(&b, "  %-39s --%s\n", s.Variable(), s.Name)
	}
	b.WriteString(`
An empty variable does not count. A list is separated by commas. true, yes, on
and 1 switch a setting on; false, no, off and 0 switch it off.

xdsproxy help configuration says what stands in the configuration file.

Other variables:

  NO_COLOR                 no colour, if it is not empty
  FORCE_HYPERLINK          1: the terminal knows links; 0: it does not
  CLICOLOR_FORCE           colour even without a terminal, if not empty or 0
  TERM                     no colour if it says dumb
  XDSPROXY_PAGER, PAGER    the program that show and explain print through on a
                           terminal; cat for none, as without them
  GRPC_XDS_BOOTSTRAP       the bootstrap that wrap reads, if no other is named;
                           or its text, in GRPC_XDS_BOOTSTRAP_CONFIG
  XDG_CONFIG_HOME          where the configuration file is (~/.config)
  XDG_STATE_HOME           where recordings go (~/.local/state)
  XDG_RUNTIME_DIR          where the sockets of running proxies are; without it,
                           in a directory of this user below that for temporary
                           files
  XDSPROXY_VIEWER_TOKEN    the token of the viewer endpoint of run --viewer, for
                           the proxy and for those who read from it

xdsproxy config prints the value of every setting and where it came from.
`)
	return b.String()
}
