package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
)

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

// addTo makes the setting a flag.
func (s *setting) addTo(flags *pflag.FlagSet) {
	f := flags.VarPF(s.value, s.name, s.short, s.help)
	f.Annotations = map[string][]string{groupKey: {s.group}}
	if _, ok := s.value.(*boolValue); ok {
		f.NoOptDefVal = "true"
	}
}

// complete lets the shell complete what the flag of a command may be set to;
// without it that is a file.
func (s *setting) complete(cmd *cobra.Command) {
	switch v := s.value.(type) {
	case choiceValue:
		_ = cmd.RegisterFlagCompletionFunc(s.name, cobra.FixedCompletions(v.of, cobra.ShellCompDirectiveNoFileComp))
	case textValue:
		if v.kind == "DIR" {
			_ = cmd.MarkFlagDirname(s.name)
		}
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
				return misconfigured("%s: %w", s.variable(), err).Adding(err).Hint("%s", s.help)
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
		case a.settingOf(name) != nil, name == input.TokenVariable, name == console.PagerVariables[0]:
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
			s.complete(cmd)
		}
	}
}

// useGroups gives a command the settings of run that help lists under these
// groups.
func (a *app) useGroups(cmd *cobra.Command, groups ...string) {
	for _, s := range a.settings {
		if slices.Contains(groups, s.group) {
			s.addTo(cmd.Flags())
		}
	}
}

// useScreenSettings gives a command that draws the flags that say how.
func (a *app) useScreenSettings(cmd *cobra.Command) {
	for _, s := range a.settings {
		if s.group == groupScreen {
			s.addTo(cmd.Flags())
			s.complete(cmd)
		}
	}
}

// useRunSettings gives a command the flags of run, beside those that every
// command has.
func (a *app) useRunSettings(cmd *cobra.Command) {
	for _, s := range a.settings {
		if s.run {
			s.addTo(cmd.Flags())
			s.complete(cmd)
		}
	}
}
