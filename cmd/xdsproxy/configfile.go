package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/xdsproxy/xdsproxy/internal/nearest"
)

// defaultConfigFile is config.yaml in our folder of the XDG configuration
// directory; never in the working directory, where a stranger may have put it.
func defaultConfigFile() (string, error) {
	dir, err := xdg("XDG_CONFIG_HOME", ".config")
	return filepath.Join(dir, "config.yaml"), err
}

// stateDir is our folder of the XDG state directory, where package recorder
// keeps recordings.
func stateDir() (string, error) { return xdg("XDG_STATE_HOME", ".local/state") }

// xdg is our folder of a base directory, which a variable names. As the
// specification says, a relative path there does not count.
func xdg(variable, fallback string) (string, error) {
	dir := os.Getenv(variable)
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, filepath.FromSlash(fallback))
	}
	return filepath.Join(dir, "xdsproxy"), nil
}

// resolveFile takes from the configuration file what neither a flag nor the
// environment said. A file that was asked for must exist.
func (a *app) resolveFile() error {
	path, asked := a.config.file, true
	if path == "" {
		var err error
		if path, err = defaultConfigFile(); err != nil {
			return nil // no home: no file, as for a service
		}
		asked = false
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return nil
	}
	if err != nil {
		return failed("cannot read the configuration file: %w", err)
	}
	keys, err := parseConfig(text)
	if err != nil {
		return misconfigured("configuration file %q: %s", path, strings.Join(strings.Fields(err.Error()), " "))
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := a.takeKey(key, keys[key], path); err != nil {
			return err
		}
	}
	a.configFile = path
	return nil
}

func (a *app) takeKey(key string, texts []string, path string) error {
	var known []string
	for _, s := range a.settings {
		if s.noFile {
			continue
		}
		known = append(known, s.name)
		if s.name != key {
			continue
		}
		if s.origin != fromDefault {
			return nil
		}
		if err := s.take(texts); err != nil {
			return misconfigured("configuration file %q: %s: %w", path, key, err).hint("%s", s.help)
		}
		s.origin, s.from = fromFile, path
		return nil
	}
	f := misconfigured("configuration file %q: unknown key %q", path, key)
	if best := nearest.Name(key, known); best != "" {
		f.hint("did you mean %q?", best)
	}
	return f.hint("xdsproxy config lists all keys")
}

// parseConfig reads a mapping of keys to scalars or lists of scalars. A key
// that stands there twice is an error.
func parseConfig(text []byte) (map[string][]string, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(asJSON))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if doc == nil { // an empty file
		return nil, nil
	}
	mapping, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("not a mapping of keys to values")
	}
	keys := make(map[string][]string, len(mapping))
	for key, value := range mapping {
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, v := range list {
			switch v := v.(type) {
			case string, bool, json.Number:
				keys[key] = append(keys[key], fmt.Sprint(v))
			default:
				return nil, fmt.Errorf("%s: neither a value nor a list of values", key)
			}
		}
	}
	return keys, nil
}
