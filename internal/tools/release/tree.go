package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A file is one that lies beside the program.
type file struct {
	name string // with slashes, relative
	body []byte
}

// collect reads what lies beside the program: texts, pages, completions.
func (r *release) collect(ctx context.Context) error {
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		body, err := os.ReadFile(filepath.Join(r.source, name))
		if errors.Is(err, fs.ErrNotExist) && name == "CHANGELOG.md" {
			continue
		} else if err != nil {
			return err
		}
		r.tree = append(r.tree, file{name, body})
	}
	licenses, err := r.licenses(ctx, proxy)
	if err != nil {
		return err
	}
	if r.pluginLicenses, err = r.licenses(ctx, plugin); err != nil {
		return err
	}
	r.tree = append(r.tree, file{"LICENSES.txt", licenses})
	pages, err := filepath.Glob(filepath.Join(r.source, "docs/man/*.[17]"))
	if err != nil || len(pages) == 0 {
		return fmt.Errorf("no man pages: %w", err)
	}
	for _, page := range pages {
		body, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		r.tree = append(r.tree, file{"man/" + filepath.Base(page), body})
	}
	own, err := r.own(ctx)
	if err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "xdsproxy.bash", "zsh": "_xdsproxy", "fish": "xdsproxy.fish", "powershell": "xdsproxy.ps1"} {
		script, err := command(ctx, r.work, []string{"HOME=" + r.work, "XDSPROXY_CONFIG="}, own, "completion", shell)
		if err != nil {
			return err
		}
		r.tree = append(r.tree, file{"completions/" + name, []byte(script)})
	}
	slices.SortFunc(r.tree, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return nil
}

// body is a file of the tree.
func (r *release) body(name string) []byte {
	for _, f := range r.tree {
		if f.name == name {
			return f.body
		}
	}
	return nil
}

// licenses joins the licenses of all modules that are linked into a program on any
// platform, and Go's own. Those licenses ask for that.
func (r *release) licenses(ctx context.Context, program string) ([]byte, error) {
	linked := map[string]bool{}
	for _, p := range r.platforms {
		info, err := buildinfo.ReadFile(r.binary(p, program))
		if err != nil {
			return nil, err
		}
		for _, d := range info.Deps {
			linked[d.Path] = true
		}
	}
	var modules string
	if len(linked) > 0 { // of no module go list would tell of the one that it is in
		var err error
		args := append([]string{"list", "-m", "-json=Path,Version,Dir"}, slices.Sorted(maps.Keys(linked))...)
		if modules, err = command(ctx, r.source, []string{"GOFLAGS=", "GOWORK=off"}, "go", args...); err != nil {
			return nil, err
		}
	}
	users := map[string][]string{} // by the text of the license
	root := runtime.GOROOT()
	if said, err := command(ctx, r.source, nil, "go", "env", "GOROOT"); err == nil {
		root = strings.TrimSpace(said)
	}
	if err := addLicenses(users, "Go "+runtime.Version(), root); err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(strings.NewReader(modules)); dec.More(); {
		var m struct{ Path, Version, Dir string }
		if err := dec.Decode(&m); err != nil {
			return nil, err
		}
		if err := addLicenses(users, m.Path+" "+m.Version, m.Dir); err != nil {
			return nil, err
		}
	}
	texts := slices.Collect(maps.Keys(users))
	slices.SortFunc(texts, func(a, b string) int { return strings.Compare(users[a][0]+a, users[b][0]+b) })
	var b bytes.Buffer
	b.WriteString(program + " has these in it. Each stands above its license.\n")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n\n%s\n\n%s\n", strings.Repeat("=", 78), strings.Join(users[text], "\n"), strings.TrimSpace(text))
	}
	return b.Bytes(), nil
}

// addLicenses reads those of one module. One without is an error: it may not be
// passed on.
func addLicenses(users map[string][]string, who, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !(strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING") || strings.HasPrefix(name, "NOTICE") || strings.HasPrefix(name, "PATENTS")) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = found || !strings.HasPrefix(name, "NOTICE") && !strings.HasPrefix(name, "PATENTS")
		users[string(text)] = append(users[string(text)], who)
	}
	if !found {
		return fmt.Errorf("%s has no license", who)
	}
	return nil
}

// zipped is gzip -n -9.
func zipped(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a constant level is never refused
	_, _ = w.Write(body)                                  // to memory
	_ = w.Close()
	return b.Bytes()
}
