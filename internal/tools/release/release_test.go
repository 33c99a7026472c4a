package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVersionsAndPlatforms(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"-version", "1.2.3"},
		{"-version", "v1.2"},
		{"-version", "v2.0.0"},
		{"-version", "v1.2.3+x"},
		{"-version", "latest"},
		{"-version", "v1.2.3", "-platforms", "linux"},
		{"-version", "v1.2.3", "-platforms", "plan9/amd64"},
		{"-version", "v1.2.3", "-nonsense"},
	} {
		if err := run(context.Background(), args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// What somebody else has in the directory is not removed.
func TestEmptied(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "thesis.tex")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := emptied(dir); err == nil {
		t.Error("it was emptied")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, sumsName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := emptied(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(precious); err == nil {
		t.Error("an earlier release is still there")
	}
}

func TestRoots(t *testing.T) {
	if n := strings.Count(string(roots()), "BEGIN CERTIFICATE"); n < 80 {
		t.Errorf("%d roots", n)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(roots()) {
		t.Error("they cannot be read")
	}
	for rest := roots(); len(rest) > 0; {
		block, more := pem.Decode(rest)
		if block == nil {
			t.Fatal("there is something else among them")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
		rest = more
	}
}

// Directories come before what is in them, once; owners and modes are those of
// the image.
func TestLayer(t *testing.T) {
	r := &release{date: time.Unix(1e9, 0)}
	if !bytes.Equal(r.root(), r.root()) {
		t.Error("two layers differ")
	}
	seen := map[string]*tar.Header{}
	for in := tar.NewReader(bytes.NewReader(r.root())); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if seen[h.Name] != nil {
			t.Errorf("%s is there twice", h.Name)
		}
		if dir, _ := filepath.Split(strings.TrimSuffix(h.Name, "/")); dir != "" && seen[dir] == nil {
			t.Errorf("%s comes before its directory", h.Name)
		}
		if !h.ModTime.Equal(r.date) {
			t.Errorf("%s is of %s", h.Name, h.ModTime)
		}
		seen[h.Name] = h
	}
	if h := seen["tmp/"]; h == nil || h.Mode != 0o1777 || h.Uid != 0 {
		t.Errorf("/tmp: %+v", h)
	}
	if h := seen["var/lib/xdsproxy/"]; h == nil || h.Mode != 0o700 || h.Uid != nobody || h.Gid != nobody {
		t.Errorf("/var/lib/xdsproxy: %+v", h)
	}
}

// A module whose license is not there may not be passed on.
func TestLicenses(t *testing.T) {
	dir, users := t.TempDir(), map[string][]string{}
	if err := addLicenses(users, "some/module v1", dir); err == nil {
		t.Error("a module without a license is taken")
	}
	if err := os.WriteFile(filepath.Join(dir, "NOTICE"), []byte("n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := addLicenses(users, "some/module v1", dir); err == nil {
		t.Error("a notice is no license")
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE.md"), []byte("l"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := addLicenses(users, "some/module v1", dir); err != nil || len(users["l"]) != 1 {
		t.Errorf("%v, %v", err, users)
	}
}

// What is above the promised size is not written, and does not stand there half.
func TestTooLarge(t *testing.T) {
	r := &release{out: t.TempDir()}
	if err := r.keep("small.tar.gz", make([]byte, maxPackage)); err != nil {
		t.Error(err)
	}
	err := r.keep("large.tar.gz", make([]byte, maxPackage+1))
	if err == nil || !strings.Contains(err.Error(), "large.tar.gz has 20.0 MB, and at most 20 are promised") {
		t.Error(err)
	}
	if _, err := os.Stat(r.artefact("large.tar.gz")); err == nil {
		t.Error("it was written")
	}
}
