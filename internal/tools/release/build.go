package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
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

// The programs that are released: the proxy, and the plugin of kubectl.
const (
	proxy  = "xdsproxy"
	plugin = "kubectl-xds"
)

// all are the platforms that are released.
var all = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// pluginArchive is the name of its archive, without tar.gz or zip.
func pluginArchive(p platform) string { return plugin + "_" + p.String() }

// executable is the name of a program there.
func (p platform) executable(program string) string {
	if p.os == "windows" {
		return program + ".exe"
	}
	return program
}

// A release is made in work, of a clone of the commit.
type release struct {
	version   string // v1.2.3
	platforms []platform
	out       string    // where the files of the release go
	work      string    // for this run alone
	source    string    // the clone, in work
	date      time.Time // of the commit; every time in every file is this one
	tree      []file    // what lies beside the proxy, by the name in a tar.gz
	// pluginLicenses are the licenses of what is in the plugin.
	pluginLicenses []byte
}

// number is the version without its v.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// binary is where a program for a platform lies.
func (r *release) binary(p platform, program string) string {
	return filepath.Join(r.work, p.String(), p.executable(program))
}

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

// build builds both programs for a platform.
func (r *release) build(ctx context.Context, p platform) error {
	// Without grpcnotrace gRPC has html/template, which asks for methods by name:
	// the linker then keeps all methods of all types.
	if _, err := command(ctx, r.source, r.environment(p), "go", "build", "-trimpath", "-buildvcs=true", "-tags", "grpcnotrace",
		"-ldflags", "-s -w -buildid=", "-o", filepath.Join(r.work, p.String())+string(filepath.Separator), "./cmd/"+proxy, "./cmd/"+plugin); err != nil {
		return err
	}
	for _, program := range []string{proxy, plugin} {
		if err := r.built(ctx, r.binary(p, program)); err != nil {
			return fmt.Errorf("%s for %s: %w", program, p, err)
		}
	}
	return nil
}

// built is an error if a program is not of this release, or tells of this machine.
func (r *release) built(ctx context.Context, path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	if info.Main.Version != r.version {
		return fmt.Errorf("it says that it is %s", info.Main.Version)
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(body) > maxBinary {
		return fmt.Errorf("it has %.1f MB, and at most %.0f are promised: does something use text/template again", float64(len(body))/1e6, maxBinary/1e6)
	}
	if bytes.Contains(body, []byte("(*Cluster).ValidateAll")) {
		return errors.New("it has the generated code of all constraints, 14 MB: what asks for Validate by an interface")
	}
	goroot, err := command(ctx, r.work, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	for _, place := range []string{r.work, strings.TrimSpace(goroot)} {
		if bytes.Contains(body, []byte(place+"/")) {
			return fmt.Errorf("it has a path of this machine in it: %s", place)
		}
	}
	return nil
}

// own is a proxy that runs here: for pages of completion.
func (r *release) own(ctx context.Context) (string, error) {
	here := platform{runtime.GOOS, runtime.GOARCH}
	for _, p := range r.platforms {
		if p == here {
			return r.binary(p, proxy), nil
		}
	}
	return r.binary(here, proxy), r.build(ctx, here)
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
