package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const description = `Transparent debugging proxy for xDS
xdsproxy stands between xDS clients (Envoy, gRPC) and their control plane. It
forwards every byte unchanged, decodes every message on its way, and records
the whole conversation.`

const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: xdsproxy
Source: https://github.com/xdsproxy/xdsproxy

Files: *
Copyright: The xdsproxy authors
License: Apache-2.0
 The full text is in /usr/share/common-licenses/Apache-2.0.
Comment: Licenses of the libraries that are linked in are in LICENSES.txt.gz.
`

// pack writes a package of Debian's or Red Hat's.
func (r *release) pack(p platform, format string) error {
	dir := filepath.Join(r.work, format+p.arch)
	contents, err := r.contents(p, format, dir)
	if err != nil {
		return err
	}
	script := func(name string) string { return filepath.Join(r.source, "packaging", name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "xdsproxy", Arch: p.arch, Platform: "linux", Version: r.version, Section: "net",
		Maintainer: "The xdsproxy authors <noreply@xdsproxy.invalid>", Vendor: "xdsproxy",
		Description: description, Homepage: "https://github.com/xdsproxy/xdsproxy", License: "Apache-2.0",
		MTime: r.date, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents, Umask: 0o022,
			Recommends: map[string][]string{"deb": {"ca-certificates"}, "rpm": {"ca-certificates"}}[format],
			Scripts:    nfpm.Scripts{PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm")},
			Deb:        nfpm.Deb{Compression: "xz"},
			RPM:        nfpm.RPM{Compression: "xz", BuildHost: "localhost", Summary: "Transparent debugging proxy for xDS"},
		},
	})
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := packager.Package(info, &b); err != nil {
		return fmt.Errorf("%s for %s: %w", format, p, err)
	}
	return r.keep(packager.ConventionalFileName(info), b.Bytes())
}

// contents puts what a package has into dir, and says where it is to go.
func (r *release) contents(p platform, format, dir string) (files.Contents, error) {
	var all files.Contents
	add := func(name string, mode os.FileMode, kind string, body []byte) error {
		from := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return err
		}
		all = append(all, &files.Content{
			Source: from, Destination: name, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.date},
		})
		return os.WriteFile(from, body, 0o644)
	}
	program, err := os.ReadFile(r.binary(p, proxy))
	if err != nil {
		return nil, err
	}
	doc, zsh := "/usr/share/doc/xdsproxy/", "/usr/share/zsh/vendor-completions/"
	if format == "rpm" {
		zsh = "/usr/share/zsh/site-functions/"
	}
	list := []struct {
		name string
		mode os.FileMode
		kind string
		body []byte
	}{
		{"/usr/bin/xdsproxy", 0o755, files.TypeFile, program},
		{"/usr/share/bash-completion/completions/xdsproxy", 0o644, files.TypeFile, r.body("completions/xdsproxy.bash")},
		{zsh + "_xdsproxy", 0o644, files.TypeFile, r.body("completions/_xdsproxy")},
		{"/usr/share/fish/vendor_completions.d/xdsproxy.fish", 0o644, files.TypeFile, r.body("completions/xdsproxy.fish")},
		{doc + "LICENSES.txt.gz", 0o644, files.TypeFile, zipped(r.body("LICENSES.txt"))},
	}
	for _, from := range []struct{ name, to, kind string }{
		{"xdsproxy.service", "/usr/lib/systemd/system/xdsproxy.service", files.TypeFile},
		{"config.yaml", "/etc/xdsproxy/config.yaml", files.TypeConfigNoReplace},
	} {
		body, err := os.ReadFile(filepath.Join(r.source, "packaging", from.name))
		if err != nil {
			return nil, err
		}
		to := from.to
		if format == "deb" { // where Debian 12 and Ubuntu 22.04 still expect it
			to = strings.TrimPrefix(to, "/usr/lib/systemd")
			if to != from.to {
				to = "/lib/systemd" + to
			}
		}
		list = append(list, struct {
			name string
			mode os.FileMode
			kind string
			body []byte
		}{to, 0o644, from.kind, body})
	}
	for _, f := range r.tree {
		if page, ok := strings.CutPrefix(f.name, "man/"); ok {
			if err := add("/usr/share/man/man"+page[len(page)-1:]+"/"+page+".gz", 0o644, files.TypeFile, zipped(f.body)); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range list {
		if err := add(f.name, f.mode, f.kind, f.body); err != nil {
			return nil, err
		}
	}
	if format == "rpm" { // which removes a directory only if it is its own
		for _, name := range []string{"/etc/xdsproxy", "/usr/share/doc/xdsproxy", "/usr/share/licenses/xdsproxy"} {
			all = append(all, &files.Content{
				Destination: name, Type: files.TypeDir,
				FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: r.date},
			})
		}
		return all, add("/usr/share/licenses/xdsproxy/LICENSE", 0o644, files.TypeRPMLicense, r.body("LICENSE"))
	}
	return all, add(doc+"copyright", 0o644, files.TypeFile, []byte(copyright))
}
