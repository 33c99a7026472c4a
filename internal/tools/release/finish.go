package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const sumsName = "SHA256SUMS"

// sums writes what sha256sum -c reads. A formula is not of it: it is put
// elsewhere, and has sums of its own.
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

// formula writes the one for Homebrew, if everything that it names was made.
func (r *release) formula() error {
	text, err := os.ReadFile(filepath.Join(r.source, "packaging/homebrew/xdsproxy.rb"))
	if err != nil {
		return err
	}
	filled := strings.ReplaceAll(string(text), "@VERSION@", r.number())
	for _, p := range []platform{{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}} {
		sum, err := sumOf(r.artefact("xdsproxy_" + r.number() + "_" + p.String() + ".tar.gz"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		filled = strings.ReplaceAll(filled, "@"+strings.ToUpper(p.String())+"@", sum)
	}
	if strings.Contains(filled, "@") {
		return errors.New("packaging/homebrew/xdsproxy.rb has a place that nothing fills")
	}
	return os.WriteFile(r.artefact("xdsproxy.rb"), []byte(filled), 0o644)
}

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
		info, err := os.Stat(r.binary(p))
		if err != nil {
			return err
		}
		fmt.Printf("%11d  the program for %s\n", info.Size(), p)
	}
	return nil
}
