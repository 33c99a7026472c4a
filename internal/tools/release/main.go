// Command release makes all files of a release from the last commit of a
// repository, into a directory. It opens no connection but to fetch Go modules,
// and publishes nothing. Two runs for one commit, with one version of Go, make
// equal bytes: docs/releasing.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"
)

// What a release promises of its size, in bytes.
const (
	maxBinary  = 70e6 // the program, stripped
	maxPackage = 20e6 // tar.gz, zip, deb and rpm
)

var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		if !errors.Is(err, errUsage) {
			fmt.Fprintln(os.Stderr, "release:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "version of the release, such as v1.2.3 or v1.2.3-rc.1")
	repo := flags.String("repo", "../../..", "the repository; its last commit is released")
	out := flags.String("out", "../../../dist", "directory for the files; it is emptied first")
	platforms := flags.String("platforms", "", "some of the platforms, such as linux/amd64,darwin/arm64; all without it")
	if err := flags.Parse(args); err != nil {
		return errUsage
	}
	if !semver.IsValid(*version) || semver.Canonical(*version) != *version || (semver.Major(*version) != "v0" && semver.Major(*version) != "v1") {
		// From v2 on the path of the module has to end in /v2, or go build stamps
		// something else.
		return fmt.Errorf("%q is no version of this module: give -version v1.2.3 or v1.2.3-rc.1", *version)
	}
	r := &release{version: *version, out: *out, platforms: all}
	if *platforms != "" {
		r.platforms = nil
		for name := range strings.SplitSeq(*platforms, ",") {
			i := slices.IndexFunc(all, func(p platform) bool { return p.os+"/"+p.arch == name })
			if i < 0 {
				return fmt.Errorf("%q is no platform that is released", name)
			}
			r.platforms = append(r.platforms, all[i])
		}
	}
	var err error
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "xdsproxy-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	return r.make(ctx, *repo)
}

// make makes everything. The order is that in which things need each other.
func (r *release) make(ctx context.Context, repo string) error {
	if err := r.checkout(ctx, repo); err != nil {
		return err
	}
	if err := emptied(r.out); err != nil {
		return err
	}
	for _, p := range r.platforms {
		if err := r.build(ctx, p); err != nil {
			return err
		}
	}
	if err := r.collect(ctx); err != nil {
		return err
	}
	jobs := []func() error{r.image}
	for _, p := range r.platforms {
		if p.os == "linux" {
			jobs = append(jobs, func() error { return r.pack(p, "deb") }, func() error { return r.pack(p, "rpm") })
		}
		jobs = append(jobs, func() error { return r.archives(p) })
		for _, program := range []string{proxy, plugin} {
			jobs = append(jobs, func() error { return r.bom(p, program) })
		}
	}
	if err := together(jobs); err != nil {
		return err
	}
	if err := r.formula(); err != nil {
		return err
	}
	if err := r.krew(); err != nil {
		return err
	}
	if err := r.sums(); err != nil {
		return err
	}
	return r.list()
}

// together does what does not need each other, as many at a time as there are
// processors: to compress takes longer than to compile.
func together(jobs []func() error) error {
	errs := make([]error, len(jobs))
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i, job := range jobs {
		all.Go(func() {
			free <- struct{}{}
			errs[i] = job()
			<-free
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// emptied makes a directory, or empties one that an earlier release made. What is
// in it besides was somebody else's: that is left alone.
func emptied(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, sumsName)); err != nil {
		return fmt.Errorf("%s is not empty, and no release was made there", dir)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
