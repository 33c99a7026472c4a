package main

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/tui"
)

// config holds the effective value of every setting.
type config struct {
	file string

	listen      []string
	upstream    []string
	dialTimeout durationValue
	drain       durationValue
	tapMemory   sizeValue

	queue       sizeValue
	sync        orOff
	maxSize     sizeValue
	maxAge      durationValue
	keep        countValue
	noRecord    boolValue
	noCheck     boolValue
	ring        sizeValue
	keepSecrets boolValue

	viewer          viewerValue
	viewerRemote    boolValue
	viewerTokenFile string

	headless  boolValue
	theme     string
	ascii     boolValue
	noMouse   boolValue
	color     string
	logFormat string
	verbose   boolValue
	quiet     boolValue
}

// setting is one row of the table that flags, environment variables, the
// configuration file, the config command and help environment derive from.
type setting struct {
	name   string // of the flag, without dashes, and the key in the file
	short  string
	group  string // under which --help lists it
	value  pflag.Value
	help   string
	run    bool // a matter of the run command only
	noFile bool // cannot stand in the file

	origin origin
	from   string // which variable or file; "" for flags and defaults
}

// origin says where the value of a setting came from.
type origin string

const (
	fromDefault     origin = "default"
	fromFile        origin = "file"
	fromEnvironment origin = "environment"
	fromFlag        origin = "flag"
)

const (
	groupForward = "Forwarding"
	groupRecord  = "Recording"
	groupViewer  = "Viewer"
	groupOutput  = "Output"
	groupScreen  = "Screen"
	groupGlobal  = "Everywhere"
)

// settings sets the defaults and returns the table, bound to c.
func (c *config) settings() []*setting {
	*c = config{
		listen:      []string{"127.0.0.1:18000"},
		dialTimeout: durationValue(5 * time.Second),
		drain:       durationValue(2 * time.Second),
		tapMemory:   256 << 20,
		queue:       64 << 20,
		sync:        orOff(200 * time.Millisecond),
		ring:        64 << 20,
		theme:       "auto",
		viewer:      viewerOn,
		color:       "auto",
		logFormat:   "text",
	}
	address := func(s string) error {
		_, err := proxy.ParseAddr(s)
		return err
	}
	table := []*setting{
		{
			name: "upstream", group: groupForward, run: true, value: newAddresses(&c.upstream, address),
			help: "where the control plane listens; repeat it for several",
		},
		{
			name: "listen", group: groupForward, run: true, value: newAddresses(&c.listen, address),
			help: "where clients connect; one for each --upstream, in the same order; port 0 picks a free one",
		},
		{
			name: "dial-timeout", group: groupForward, run: true, value: &c.dialTimeout,
			help: "how long an upstream may take to accept",
		},
		{
			name: "drain", group: groupForward, run: true, value: &c.drain,
			help: "how long messages on their way may take to finish when the proxy stops",
		},
		{
			name: "tap-memory", group: groupForward, run: true, value: &c.tapMemory,
			help: "memory for messages that are still arriving; beyond it, records (never traffic) are cut short",
		},
		{
			name: "queue", group: groupRecord, run: true, value: &c.queue,
			help: "memory for entries on their way to disk; beyond it, records (never traffic) are dropped, and a gap says so",
		},
		{
			name: "sync", group: groupRecord, run: true, value: &c.sync,
			help: "how soon what was written is brought to the disk, to survive a crash of the machine; off for slow disks",
		},
		{
			name: "max-size", group: groupRecord, run: true, value: limitValue{&c.maxSize, "0B", "none"},
			help: "begin another segment of the recording at this size; each can be read alone, FILE is the newest",
		},
		{
			name: "max-age", group: groupRecord, run: true, value: limitValue{&c.maxAge, "0s", "none"},
			help: "begin another segment after this time",
		},
		{
			name: "keep", group: groupRecord, run: true, value: limitValue{&c.keep, "0", "all"},
			help: "how many segments to keep beside the newest; older ones are deleted",
		},
		{
			name: "no-record", group: groupRecord, run: true, value: &c.noRecord,
			help: "write no file; only what --ring has room for is kept, in memory, while the proxy runs",
		},
		{
			name: "ring", group: groupRecord, run: true, value: &c.ring,
			help: "memory for the recording with --no-record; the oldest entries go first",
		},
		{
			name: "no-check", group: groupRecord, run: true, value: &c.noCheck,
			help: "do not hold what passes against the rules",
		},
		{
			name: "keep-secrets", group: groupRecord, run: true, value: &c.keepSecrets,
			help: "record private keys and credentials in the clear instead of masking them",
		},
		{
			name: "viewer", group: groupViewer, run: true, value: &c.viewer,
			help: "where others can watch; on: on a socket that only this user can open; host:port: there, too, with a token; off: nowhere",
		},
		{
			name: "viewer-allow-remote", group: groupViewer, run: true, value: &c.viewerRemote,
			help: "let --viewer listen where other machines can reach it, unencrypted",
		},
		{
			name: "headless", group: groupOutput, run: true, value: &c.headless,
			help: "print nothing on standard output, even on a terminal",
		},
		{
			name: "theme", group: groupScreen, run: true, value: choiceValue{&c.theme, tui.Themes()},
			help: "colours of the screen; auto: the terminal's own, as its background asks for",
		},
		{
			name: "ascii", group: groupScreen, run: true, value: &c.ascii,
			help: "draw lines and arrows on the screen with ASCII only",
		},
		{
			name: "no-mouse", group: groupScreen, run: true, value: &c.noMouse,
			help: "leave the mouse to the terminal",
		},
		{
			name: "color", group: groupGlobal, value: choiceValue{&c.color, []string{"auto", "always", "never"}},
			help: "colour the output; auto: on a terminal, and as NO_COLOR says",
		},
		{
			name: "config", group: groupGlobal, noFile: true, value: textValue{&c.file, "FILE"},
			help: "read settings from this file",
		},
		{
			name: "log-format", group: groupGlobal, value: choiceValue{&c.logFormat, []string{"text", "json"}},
			help: "form of the program's own log on standard error",
		},
		{
			name: "quiet", short: "q", group: groupGlobal, value: &c.quiet,
			help: "log errors only, and print no summaries",
		},
		{
			name: "viewer-token-file", group: groupGlobal, value: textValue{&c.viewerTokenFile, "FILE"},
			help: "the token of the viewer endpoint, of one's own or of that which is read, is in this file",
		},
		{
			name: "verbose", short: "v", group: groupGlobal, value: &c.verbose,
			help: "log details",
		},
	}
	for _, s := range table {
		s.origin = fromDefault
	}
	return table
}

// variable is the name of the setting in the environment.
func (s *setting) variable() string {
	return "XDSPROXY_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// texts is the value as text: one for most settings, any number for lists.
func (s *setting) texts() []string {
	if l, ok := s.value.(listValue); ok {
		return l.list()
	}
	return []string{s.value.String()}
}

// addTo makes the setting a flag.
func (s *setting) addTo(flags *pflag.FlagSet) {
	f := flags.VarPF(s.value, s.name, s.short, s.help)
	f.Annotations = map[string][]string{groupKey: {s.group}}
	if _, ok := s.value.(*boolValue); ok {
		f.NoOptDefVal = "true"
	}
}

// resolve gives every setting its effective value: from a flag, else the
// environment, else the file, else the default.
func (a *app) resolve(flags *pflag.FlagSet) error {
	for _, s := range a.settings {
		f := flags.Lookup(s.name)
		switch text := os.Getenv(s.variable()); {
		case f != nil && f.Changed:
			s.origin = fromFlag
		case text != "":
			if err := s.take(strings.Split(text, ",")); err != nil {
				return misconfigured("%s: %w", s.variable(), err).hint("%s", s.help)
			}
			s.origin, s.from = fromEnvironment, s.variable()
		}
	}
	a.warnUnknownVariables()
	return a.resolveFile()
}

// take sets the value from text that did not come as a flag.
func (s *setting) take(texts []string) error {
	if l, ok := s.value.(listValue); ok {
		return l.replace(texts)
	}
	text := strings.Join(texts, ",")
	if err := s.value.Set(text); err != nil {
		return naming(text, err)
	}
	return nil
}

// warnUnknownVariables names variables that look like ours and are not. They
// are no error: the environment is shared with others.
func (a *app) warnUnknownVariables() {
	var known []string
	for _, s := range a.settings {
		known = append(known, s.variable())
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "XDSPROXY_") {
			continue
		}
		best := nearest.Name(name[len("XDSPROXY_"):], trimAll(known, "XDSPROXY_"))
		switch {
		case a.settingOf(name) != nil, name == tokenVariable, name == pagerVariables[0]:
		case best == "":
			a.warn("%s in the environment is not a setting", name)
		default:
			a.warn("%s in the environment is not a setting; did you mean XDSPROXY_%s?", name, strings.ToUpper(best))
		}
	}
}

func (a *app) settingOf(variable string) *setting {
	for _, s := range a.settings {
		if s.variable() == variable {
			return s
		}
	}
	return nil
}

func trimAll(words []string, prefix string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ToLower(strings.TrimPrefix(w, prefix))
	}
	return out
}

// useSettings gives a command the flags of a few settings of run.
func (a *app) useSettings(cmd *cobra.Command, names ...string) {
	for _, s := range a.settings {
		if slices.Contains(names, s.name) {
			s.addTo(cmd.Flags())
		}
	}
}

// useScreenSettings gives a command that draws the flags that say how.
func (a *app) useScreenSettings(cmd *cobra.Command) {
	for _, s := range a.settings {
		if s.group == groupScreen {
			s.addTo(cmd.Flags())
		}
	}
}

// useRunSettings gives a command the flags of run, beside those that every
// command has.
func (a *app) useRunSettings(cmd *cobra.Command) {
	for _, s := range a.settings {
		if s.run {
			s.addTo(cmd.Flags())
		}
	}
}
