package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
)

// MaxConfigFile is the size, in bytes, beyond which a configuration file is not
// read: nobody has written that.
const MaxConfigFile = 1 << 20

// DefaultConfigFile is config.yaml in our folder of the XDG configuration
// directory, whose variable does not count if it is relative; never in the
// working directory, where a stranger may have put it.
func DefaultConfigFile() (string, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "xdsproxy", "config.yaml"), nil
}

// resolveFile takes from the configuration file what neither a flag nor the
// environment said. A file that was asked for must exist.
func (ss *Settings) resolveFile(con *console.Console) error {
	path, asked := ss.file, true
	if path == "" {
		var err error
		if path, err = DefaultConfigFile(); err != nil {
			return nil // no home: no file, as for a service
		}
		asked = false
	}
	text, err := con.ReadFile(path, MaxConfigFile)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil
	}
	if err != nil {
		return console.Failed("cannot read the configuration file: %w", err)
	}
	file, err := parseConfig(text)
	if err != nil {
		return console.Misconfigured("configuration file %q: %w", path, err)
	}
	ss.Path, ss.Text = path, text
	return ss.takeFile(file, path)
}

// takeFile holds every key against a table of its own, so that a wrong value is
// found also where something stronger hides it.
func (ss *Settings) takeFile(file fileDoc, path string) error {
	var scratch Values
	tables := [][]*Setting{scratch.bind(), ss.Table}
	for _, k := range file.keys {
		for i, table := range tables {
			s := findSetting(table, k.name)
			switch {
			case s == nil || s.noFile:
				return k.unknown(path, k.name, append(fileKeys(table), listenersKey))
			case s.Origin != fromDefault && i > 0:
				continue
			}
			if err := k.give(s, path, k.name); err != nil {
				return err
			}
		}
	}
	for i, l := range file.listeners {
		if err := ss.takeListener(i, l, path); err != nil {
			return err
		}
	}
	return ss.overlay(path)
}

// give sets a setting from the file. place names the key.
func (k *fileKey) give(s *Setting, path, place string) error {
	if _, many := s.Value.(List); k.list && !many {
		return k.wrong(path, "%s: a list, where one value is wanted", place).Hint("%s", s.Help)
	}
	if err := s.take(k.texts); err != nil {
		return k.wrong(path, "%s: %w", place, err).Adding(err).Hint("%s", s.Help)
	}
	s.Origin, s.From = fromFile, path
	return nil
}

// wrong is what is wrong with a key of the file, and where it stands.
func (k *fileKey) wrong(path, format string, args ...any) *console.Failure {
	return console.Misconfigured("configuration file %q: line %d: "+format, append([]any{path, k.line}, args...)...)
}

func (k *fileKey) unknown(path, place string, known []string) error {
	f := k.wrong(path, "unknown key %s", strconv.Quote(place))
	if best := nearest.Name(k.name, known); best != "" {
		f.Hint("did you mean %q?", best)
	}
	return f.Hint("xdsproxy config lists all keys")
}

func findSetting(table []*Setting, name string) *Setting {
	i := slices.IndexFunc(table, func(s *Setting) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return table[i]
}

// fileKeys are the keys that may stand in the file.
func fileKeys(table []*Setting) []string {
	var names []string
	for _, s := range table {
		if !s.noFile {
			names = append(names, s.Name)
		}
	}
	return names
}
