package main

import (
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
)

// settings are the values that count for a command, and where each is from.
type settings struct {
	config
	table []*setting // of config, with the origin of each value once resolved
	// path is the configuration file that was read; "" for none.
	path string
	text []byte // of that file, as it was read
	// listeners are those of the file, unless replaced says which setting
	// stands in for them.
	listeners []*listener
	replaced  *setting
}

// newSettings has the defaults.
func newSettings() *settings {
	ss := &settings{}
	ss.table = ss.bind()
	return ss
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
	pair   bool // belongs to a listener and its upstream; several may differ
	noFile bool // cannot stand in the file

	origin origin
	from   string // which variable, file or setting; "" for flags and defaults
	own    bool   // the file gives it to one listener, not to all
}

// origin says where the value of a setting came from.
type origin string

const (
	fromDefault     origin = "default"
	fromFile        origin = "file"
	fromEnvironment origin = "environment"
	fromFlag        origin = "flag"
	implied         origin = "implied" // by another setting
)

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

// shown is the value as others may see it.
func (s *setting) shown() []string {
	if h, ok := s.value.(headersValue); ok {
		return h.shown()
	}
	return s.texts()
}

// resolve gives every setting its effective value: from a flag, else the
// environment, else the file, else the default.
func (ss *settings) resolve(con *console.Console, flags *pflag.FlagSet) error {
	for _, s := range ss.table {
		f := flags.Lookup(s.name)
		switch text := os.Getenv(s.variable()); {
		case f != nil && f.Changed:
			s.origin = fromFlag
		case text != "":
			if err := s.take(strings.Split(text, ",")); err != nil {
				return console.Misconfigured("%s: %w", s.variable(), err).Adding(err).Hint("%s", s.help)
			}
			s.origin, s.from = fromEnvironment, s.variable()
		}
	}
	ss.warnUnknownVariables(con)
	return ss.resolveFile(con)
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
func (ss *settings) warnUnknownVariables(con *console.Console) {
	var known []string
	for _, s := range ss.table {
		known = append(known, s.variable())
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "XDSPROXY_") {
			continue
		}
		best := nearest.Name(name[len("XDSPROXY_"):], trimAll(known, "XDSPROXY_"))
		switch {
		case ss.settingOf(name) != nil, name == tokenVariable, name == console.PagerVariables[0]:
		case best == "":
			con.Warn("%s in the environment is not a setting", name)
		default:
			con.Warn("%s in the environment is not a setting; did you mean XDSPROXY_%s?", name, strings.ToUpper(best))
		}
	}
}

func (ss *settings) settingOf(variable string) *setting {
	for _, s := range ss.table {
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
