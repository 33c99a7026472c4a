package main

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// options is a command line. Flags stand before or after what they are about, since
// kubectl refuses flags before the name of a plugin.
type options struct {
	help bool
	// words are what is no flag of the plugin's, up to the target and with it.
	words []string
	// rest is for xdsproxy.
	rest []string

	namespace, context, kubeconfig string
	port                           int
	secret                         string
	wait                           time.Duration

	proxy, upstream, image, tables string
	xdsPort                        int
}

func parse(args []string) (*options, error) {
	o := &options{
		port: 18999, secret: "xdsproxy-viewer", wait: 30 * time.Second,
		proxy: "xdsproxy.xdsproxy.svc:18000", xdsPort: 18000,
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			o.rest = append(o.rest, args...)
			break
		}
		name, value, has := strings.Cut(arg, "=")
		set, known := o.flags()[name]
		switch {
		case name == "-h" || name == "--help":
			o.help = true
		case known:
			if !has {
				if len(args) == 0 {
					return nil, misused("%s needs a value", name)
				}
				value, args = args[0], args[1:]
			}
			if err := set(value); err != nil {
				return nil, misused("%s %q: %s", name, value, err)
			}
		case !strings.HasPrefix(arg, "-") && !o.targeted():
			o.words = append(o.words, arg)
		default:
			o.rest = append(o.rest, arg)
		}
	}
	return o, nil
}

// targeted says whether KIND/NAME was there.
func (o *options) targeted() bool {
	return len(o.words) > 0 && strings.Contains(o.words[len(o.words)-1], "/")
}

type complaint string

func (c complaint) Error() string { return string(c) }

func (o *options) flags() map[string]func(string) error {
	text := func(to *string, form *regexp.Regexp, is string) func(string) error {
		return func(s string) error {
			if len(s) > 253 || !utf8.ValidString(s) || !form.MatchString(s) {
				return complaint("this is not " + is)
			}
			*to = s
			return nil
		}
	}
	number := func(to *int) func(string) error {
		return func(s string) error {
			n, err := strconv.ParseUint(s, 10, 16)
			if err != nil || n == 0 {
				return complaint("this is not a port")
			}
			*to = int(n)
			return nil
		}
	}
	address := func(to *string) func(string) error {
		return func(s string) error {
			host, port, err := net.SplitHostPort(s)
			if err != nil || !hostForm.MatchString(host) || len(s) > 253 {
				return complaint("this is not host:port")
			}
			var n int
			*to = s
			return number(&n)(port)
		}
	}
	return map[string]func(string) error{
		"-n":               text(&o.namespace, labelForm, "the name of a namespace"),
		"--namespace":      text(&o.namespace, labelForm, "the name of a namespace"),
		"--context":        text(&o.context, plainForm, "a printable name"),
		"--kubeconfig":     text(&o.kubeconfig, plainForm, "a printable path"),
		"--port":           number(&o.port),
		"--token-secret":   text(&o.secret, nameForm, "the name of a Secret"),
		"--proxy":          address(&o.proxy),
		"--upstream":       address(&o.upstream),
		"--xds-port":       number(&o.xdsPort),
		"--image":          text(&o.image, imageForm, "the name of an image"),
		"--iptables-image": text(&o.tables, imageForm, "the name of an image"),
		"--wait": func(s string) (err error) {
			if o.wait, err = time.ParseDuration(s); err != nil || o.wait <= 0 {
				return complaint("this is not a duration such as 30s")
			}
			return nil
		},
	}
}

// What names may look like: those of Kubernetes as it wants them (RFC 1123), and the
// rest without anything that a shell, YAML or a terminal would make something of.
var (
	labelForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	nameForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	hostForm  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
	imageForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)
	plainForm = regexp.MustCompile(`^[\pL\pN\pP\pS ]+$`)
)

// target is KIND/NAME.
type target struct{ kind, name string }

func (t target) String() string { return t.kind + "/" + t.name }

// kinds are those that kubectl knows by several names.
var kinds = map[string]string{
	"deploy": "deployment", "deployments": "deployment", "deployment.apps": "deployment", "deployments.apps": "deployment",
	"ds": "daemonset", "daemonsets": "daemonset", "daemonset.apps": "daemonset", "daemonsets.apps": "daemonset",
	"sts": "statefulset", "statefulsets": "statefulset", "statefulset.apps": "statefulset", "statefulsets.apps": "statefulset",
	"rs": "replicaset", "replicasets": "replicaset", "replicaset.apps": "replicaset",
	"po": "pod", "pods": "pod", "svc": "service", "services": "service", "envoyproxies": "envoyproxy",
}

func parseTarget(s string) (target, error) {
	kind, name, has := strings.Cut(s, "/")
	if full, short := kinds[strings.ToLower(kind)]; short {
		kind = full
	}
	kind = strings.ToLower(kind)
	if !has || len(name) > 253 || !nameForm.MatchString(name) {
		return target{}, misused("%q is not KIND/NAME, such as deploy/xdsproxy", s)
	}
	return target{kind, name}, nil
}

// kubectl is a command line of it, with what says which cluster and namespace.
func (o *options) kubectl(args ...string) []string {
	argv := []string{"kubectl"}
	for _, f := range [][2]string{{"--kubeconfig", o.kubeconfig}, {"--context", o.context}, {"-n", o.namespace}} {
		if f[1] != "" {
			argv = append(argv, f[0], f[1])
		}
	}
	return append(argv, args...)
}
