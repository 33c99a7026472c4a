package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const sumsName = "SHA256SUMS"

// sums writes what sha256sum -c reads.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		sum, err := sumOf(r.artefact(e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(r.artefact(sumsName), b.Bytes(), 0o644)
}

func sumOf(path string) (string, error) {
	body, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(body)), err
}

// formula writes the one for Homebrew.
func (r *release) formula() error {
	return r.filled("packaging/homebrew/xdsproxy.rb", "xdsproxy.rb", func(p platform) string {
		return "xdsproxy_" + r.number() + "_" + p.String() + ".tar.gz"
	})
}

// krew writes the manifest of the plugin for krew, which wants xds.yaml in its index.
func (r *release) krew() error {
	return r.filled("deploy/krew/xds.yaml", "xds.yaml", func(p platform) string {
		if p.os == "windows" {
			return pluginArchive(p) + ".zip"
		}
		return pluginArchive(p) + ".tar.gz"
	})
}

// filled writes a file of the source whose places for the version and for sums of
// archives, such as @LINUX_AMD64@, are filled. Of archives that were not asked for
// it can name no sums: then it is not written.
func (r *release) filled(from, to string, archive func(platform) string) error {
	body, err := os.ReadFile(filepath.Join(r.source, from))
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(body), "@VERSION@", r.number())
	for _, p := range all {
		place := "@" + strings.ToUpper(p.String()) + "@"
		if !strings.Contains(text, place) {
			continue
		}
		sum, err := sumOf(r.artefact(archive(p)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		text = strings.ReplaceAll(text, place, sum)
	}
	if place := unfilled.FindString(text); place != "" {
		return fmt.Errorf("%s has a place that nothing fills: %s", from, place)
	}
	return os.WriteFile(r.artefact(to), []byte(text), 0o644)
}

var unfilled = regexp.MustCompile("@[A-Z0-9_]+@")

// list prints what was made, and how large it is.
func (r *release) list() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Printf("%11d  %s\n", info.Size(), e.Name())
	}
	for _, p := range r.platforms {
		info, err := os.Stat(r.binary(p, proxy))
		if err != nil {
			return err
		}
		fmt.Printf("%11d  the program for %s\n", info.Size(), p)
	}
	return nil
}
