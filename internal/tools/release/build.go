package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// executable is the name of the program there.
func (p platform) executable() string {
	if p.os == "windows" {
		return "xdsproxy.exe"
	}
	return "xdsproxy"
}

// A release is made in work, of a clone of the commit.
type release struct {
	version   string // v1.2.3
	platforms []platform
	out       string    // where the files of the release go
	work      string    // for this run alone
	source    string    // the clone, in work
	date      time.Time // of the commit; every time in every file is this one
	tree      []file    // what lies beside the program, by the name in a tar.gz
}

// number is the version without its v.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// binary is where the program for a platform lies.
func (r *release) binary(p platform) string { return filepath.Join(r.work, p.String(), p.executable()) }

// artefact is the path of a file of the release.
func (r *release) artefact(name string) string { return filepath.Join(r.out, name) }

// keep writes what people install from, if it is as small as is promised.
func (r *release) keep(name string, body []byte) error {
	if len(body) > maxPackage {
		return fmt.Errorf("%s has %.1f MB, and at most %.0f are promised", name, float64(len(body))/1e6, maxPackage/1e6)
	}
	return os.WriteFile(r.artefact(name), body, 0o644)
}

// checkout clones the last commit, and tags it in the clone alone. go build then
// stamps version, commit and date by itself, and a file that is not committed
// cannot be in a release.
func (r *release) checkout(ctx context.Context, repo string) error {
	repo, err := filepath.Abs(repo)
	if err != nil {
		return err
	}
	r.source = filepath.Join(r.work, "source")
	if _, err := command(ctx, repo, nil, "git", "clone", "-q", "--shared", "--no-tags", "--no-checkout", ".", r.source); err != nil {
		return err
	}
	commit, err := command(ctx, repo, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"checkout", "-q", "--detach", strings.TrimSpace(commit)},
		{"tag", "--no-sign", r.version},
	} {
		if _, err := command(ctx, r.source, []string{"GIT_CONFIG_GLOBAL=/dev/null"}, "git", args...); err != nil {
			return err
		}
	}
	seconds, err := command(ctx, r.source, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
	r.date = time.Unix(n, 0).UTC()
	return err
}

// environment is what decides about the bytes of a build. What the caller has set
// of it does not count.
func (r *release) environment(p platform) []string {
	return []string{
		"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", "GOTOOLCHAIN=local", "GOFIPS140=off",
		"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10),
	}
}

func (r *release) build(ctx context.Context, p platform) error {
	// Without grpcnotrace gRPC has html/template, which asks for methods by name:
	// the linker then keeps all methods of all types.
	if _, err := command(ctx, r.source, r.environment(p), "go", "build", "-trimpath", "-buildvcs=true", "-tags", "grpcnotrace",
		"-ldflags", "-s -w -buildid=", "-o", r.binary(p), "./cmd/xdsproxy"); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(r.binary(p))
	if err != nil {
		return err
	}
	if info.Main.Version != r.version {
		return fmt.Errorf("the program for %s says that it is %s", p, info.Main.Version)
	}
	program, err := os.ReadFile(r.binary(p))
	if err != nil {
		return err
	}
	if len(program) > maxBinary {
		return fmt.Errorf("the program for %s has %.1f MB, and at most %.0f are promised: does something use text/template again", p, float64(len(program))/1e6, maxBinary/1e6)
	}
	if bytes.Contains(program, []byte("(*Cluster).ValidateAll")) {
		return fmt.Errorf("the program for %s has the generated code of all constraints, 14 MB: what asks for Validate by an interface", p)
	}
	for _, path := range []string{r.work, runtime.GOROOT()} {
		if bytes.Contains(program, []byte(path+"/")) {
			return fmt.Errorf("the program for %s has a path of this machine in it: %s", p, path)
		}
	}
	return nil
}

// own is a program that runs here: for pages of completion.
func (r *release) own(ctx context.Context) (string, error) {
	here := platform{runtime.GOOS, runtime.GOARCH}
	for _, p := range r.platforms {
		if p == here {
			return r.binary(p), nil
		}
	}
	return r.binary(here), r.build(ctx, here)
}

// command runs a program, and says what it said if it fails.
func command(ctx context.Context, dir string, environment []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), environment...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, errs.Bytes())
	}
	return string(out), nil
}
