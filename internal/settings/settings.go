// Package settings holds what flags, the environment and the configuration file
// say, which of them counts, and the listeners that come of it. It opens no
// socket, and of files reads its own, the token and nothing else.
package settings

import (
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/serve"
)

// Settings are the values that count for a command, and where each is from.
type Settings struct {
	Values
	Table []*Setting // of Values, with the origin of each value once resolved
	// Path is the configuration file that was read; "" for none.
	Path string
	Text []byte // of that file, as it was read
	// Listeners are those of the file, unless replaced says which setting
	// stands in for them.
	Listeners []*listener
	replaced  *Setting
}

// New has the defaults.
func New() *Settings {
	ss := &Settings{}
	ss.Table = ss.bind()
	return ss
}

// Setting is one row of the table that flags, environment variables, the
// configuration file, the config command and help environment derive from.
type Setting struct {
	Name   string // of the flag, without dashes, and the key in the file
	Short  string
	Group  string // under which --help lists it
	Value  pflag.Value
	Help   string
	Run    bool // a matter of the run command only
	pair   bool // belongs to a listener and its upstream; several may differ
	noFile bool // cannot stand in the file

	Origin Origin
	From   string // which variable, file or setting; "" for flags and defaults
	own    bool   // the file gives it to one listener, not to all
}

// Origin says where the value of a setting came from.
type Origin string

const (
	fromDefault     Origin = "default"
	fromFile        Origin = "file"
	fromEnvironment Origin = "environment"
	fromFlag        Origin = "flag"
	Implied         Origin = "implied" // by another setting
)

// Variable is the name of the setting in the environment.
func (s *Setting) Variable() string {
	return "XDSPROXY_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// texts is the value as text: one for most settings, any number for lists.
func (s *Setting) texts() []string {
	if l, ok := s.Value.(List); ok {
		return l.list()
	}
	return []string{s.Value.String()}
}

// Shown is the value as others may see it.
func (s *Setting) Shown() []string {
	if h, ok := s.Value.(headers); ok {
		return h.shown()
	}
	return s.texts()
}

// GroupKey is the annotation of a flag that names the group under which help
// lists it.
const GroupKey = "group"

// AddTo makes the setting a flag.
func (s *Setting) AddTo(flags *pflag.FlagSet) {
	f := flags.VarPF(s.Value, s.Name, s.Short, s.Help)
	f.Annotations = map[string][]string{GroupKey: {s.Group}}
	if _, ok := s.Value.(*Bool); ok {
		f.NoOptDefVal = "true"
	}
}

// Resolve gives every setting its effective value: from a flag, else the
// environment, else the file, else the default.
func (ss *Settings) Resolve(con *console.Console, flags *pflag.FlagSet) error {
	for _, s := range ss.Table {
		f := flags.Lookup(s.Name)
		switch text := os.Getenv(s.Variable()); {
		case f != nil && f.Changed:
			s.Origin = fromFlag
		case text != "":
			if err := s.take(strings.Split(text, ",")); err != nil {
				return console.Misconfigured("%s: %w", s.Variable(), err).Adding(err).Hint("%s", s.Help)
			}
			s.Origin, s.From = fromEnvironment, s.Variable()
		}
	}
	ss.warnUnknownVariables(con)
	return ss.resolveFile(con)
}

// take sets the value from text that did not come as a flag.
func (s *Setting) take(texts []string) error {
	if l, ok := s.Value.(List); ok {
		return l.replace(texts)
	}
	text := strings.Join(texts, ",")
	if err := s.Value.Set(text); err != nil {
		return Naming(text, err)
	}
	return nil
}

// warnUnknownVariables names variables that look like ours and are not. They
// are no error: the environment is shared with others.
func (ss *Settings) warnUnknownVariables(con *console.Console) {
	var known []string
	for _, s := range ss.Table {
		known = append(known, s.Variable())
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "XDSPROXY_") {
			continue
		}
		best := nearest.Name(name[len("XDSPROXY_"):], trimAll(known, "XDSPROXY_"))
		switch {
		case ss.settingOf(name) != nil, name == serve.TokenVariable, name == console.PagerVariables[0]:
		case best == "":
			con.Warn("%s in the environment is not a setting", name)
		default:
			con.Warn("%s in the environment is not a setting; did you mean XDSPROXY_%s?", name, strings.ToUpper(best))
		}
	}
}

func (ss *Settings) settingOf(variable string) *Setting {
	for _, s := range ss.Table {
		if s.Variable() == variable {
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
