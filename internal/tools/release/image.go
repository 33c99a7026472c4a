package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user of the image, as in the images of distroless.
const nobody = 65532

// image writes one image for all architectures of Linux, as an OCI layout in a
// tar. Below the program there is no base: what a static program needs of one are
// roots, a user and /tmp.
func (r *release) image() error {
	base, err := tarball.LayerFromOpener(opener(r.root()), tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	labels := map[string]string{
		"org.opencontainers.image.title":    "xdsproxy",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.created":  r.date.Format(time.RFC3339),
		"org.opencontainers.image.source":   "https://github.com/xdsproxy/xdsproxy",
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	some := false
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		some = true
		program, err := os.ReadFile(r.binary(p, proxy))
		if err != nil {
			return err
		}
		layer, err := tarball.LayerFromOpener(opener(r.layer([]file{{"usr/bin/xdsproxy", program}, {"usr/share/doc/xdsproxy/LICENSE", r.body("LICENSE")}, {"usr/share/doc/xdsproxy/LICENSES.txt", r.body("LICENSES.txt")}})),
			tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
		if err != nil {
			return err
		}
		img, err := mutate.AppendLayers(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), base, layer)
		if err != nil {
			return err
		}
		img, err = mutate.ConfigFile(img, config(img, p, labels, r.date))
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}})
	}
	if !some {
		return nil
	}
	dir := filepath.Join(r.work, "oci")
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := to.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.number()})); err != nil {
		return err
	}
	return r.tarOf(dir, r.artefact("xdsproxy_"+r.number()+"_oci.tar"))
}

func config(img v1.Image, p platform, labels map[string]string, when time.Time) *v1.ConfigFile {
	c, _ := img.ConfigFile() // of the empty image with layers in memory: never fails
	c = c.DeepCopy()
	c.OS, c.Architecture = p.os, p.arch
	c.Created = v1.Time{Time: when}
	for range c.RootFS.DiffIDs {
		c.History = append(c.History, v1.History{Created: v1.Time{Time: when}, CreatedBy: "xdsproxy release"})
	}
	c.History = c.History[len(c.History)-len(c.RootFS.DiffIDs):]
	c.Config = v1.Config{
		User:       "65532:65532",
		Entrypoint: []string{"/usr/bin/xdsproxy"},
		WorkingDir: "/",
		Env: []string{
			"PATH=/usr/bin", "HOME=/tmp", "XDG_STATE_HOME=/var/lib", "XDG_RUNTIME_DIR=/tmp",
			"SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
		},
		Labels:     labels,
		StopSignal: "SIGTERM",
	}
	return c
}

func opener(body []byte) tarball.Opener {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}

// roots are those of Mozilla that have no constraint that a list in PEM could
// not say.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
		}
	}
	return b.Bytes()
}

// root is the layer below the program.
func (r *release) root() []byte {
	return r.layer([]file{
		{"etc/group", []byte("root:x:0:\nnonroot:x:65532:\n")},
		{"etc/nsswitch.conf", []byte("hosts: files dns\n")},
		{"etc/passwd", []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n")},
		{"etc/ssl/certs/ca-certificates.crt", roots()},
		{"tmp/", nil},
		{"var/lib/xdsproxy/", nil},
	})
}

// layer is a tar of files of root, with the directories that they are in.
func (r *release) layer(files []file) []byte {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	made := map[string]bool{}
	directory := func(name string) {
		h := &tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755, ModTime: r.date, Format: tar.FormatUSTAR}
		switch name {
		case "tmp/":
			h.Mode = 0o1777
		case "var/lib/xdsproxy/":
			h.Mode, h.Uid, h.Gid = 0o700, nobody, nobody
		}
		_ = t.WriteHeader(h) // to memory, as all below
	}
	for _, f := range files {
		for i, c := range f.name {
			if dir := f.name[:i+1]; c == '/' && !made[dir] {
				made[dir] = true
				directory(dir)
			}
		}
		if strings.HasSuffix(f.name, "/") {
			continue
		}
		mode := int64(0o644)
		if strings.HasPrefix(f.name, "usr/bin/") {
			mode = 0o755
		}
		_ = addFile(t, f.name, f.body, mode, r.date)
	}
	_ = t.Close()
	return b.Bytes()
}

// tarOf writes a directory, in the order of names.
func (r *release) tarOf(dir, to string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer f.Close()
	t := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return addFile(t, filepath.ToSlash(name), body, 0o644, r.date)
	})
	if err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return f.Close()
}
