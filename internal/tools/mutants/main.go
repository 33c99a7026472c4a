// Mutants breaks a module's code in one place at a time, and says whether the tests of the
// package that holds it notice: in every place of one package, or in places drawn by chance,
// no two of them of one package. A package is drawn by its lines. The same seed draws the
// same places of the same tree.
//
//	mutants -pkg internal/nearest DIR
//	mutants -spread 28 -seed 1 DIR
//
// One operator stands in place of another (arithmetic, comparisons, counts), in a copy that
// only the compiler sees (go build -overlay): the tree stays as it is. A mutant that does not
// compile is none. One that takes longer than a minute and five times what the tests take
// without it is ended, and counts as alive: no test noticed anything.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	only := flag.String("pkg", "", "every place of this package, such as internal/nearest, and none by chance")
	spread := flag.Int("spread", 28, "so many mutants, each of another package")
	seed := flag.Uint64("seed", 1, "of chance")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "name the directory of one module: mutants -spread 28 -seed 1 DIR")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *only, *spread, *seed); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir, only string, spread int, seed uint64) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	packages, err := list(dir, cmp.Or(only, "..."))
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)

	t := tests{dir: dir, scratch: scratch}
	if only != "" {
		for _, p := range packages {
			if err := t.all(p); err != nil {
				return err
			}
		}
	} else if err := t.drawn(packages, spread, rand.New(rand.NewPCG(seed, 0))); err != nil {
		return err
	}
	if t.tried == 0 {
		return errors.New("there is no place that can be broken so that it compiles")
	}
	fmt.Printf("%d of %d killed\n", t.killed, t.tried)
	return nil
}

// byLines draws a package, one of many lines more often.
func byLines(chance *rand.Rand, packages []pkg) int {
	sum := 0
	for _, p := range packages {
		sum += p.lines
	}
	at := chance.IntN(sum)
	for n, p := range packages {
		if at -= p.lines; at < 0 {
			return n
		}
	}
	panic("unreachable")
}

// tests runs the tests of packages.
type tests struct {
	dir, scratch  string
	of            string        // the package that deadline is for
	deadline      time.Duration // of the tests of a mutant
	tried, killed int
}

// all breaks every place of a package.
func (t *tests) all(p pkg) error {
	for _, m := range p.mutants {
		if _, err := t.try(m, p); err != nil {
			return err
		}
	}
	return nil
}

// drawn breaks a place each of some packages, by chance.
func (t *tests) drawn(packages []pkg, spread int, chance *rand.Rand) error {
	for t.tried < spread && len(packages) > 0 {
		n := byLines(chance, packages)
		p := packages[n]
		packages = append(packages[:n], packages[n+1:]...)
		for _, n := range chance.Perm(len(p.mutants)) {
			if fate, err := t.try(p.mutants[n], p); err != nil {
				return err
			} else if fate != "" {
				break
			}
		}
	}
	return nil
}

// try prints what the package's tests make of a mutant: killed, alive, timed out, no tests.
// One that does not compile has no fate.
func (t *tests) try(m mutant, p pkg) (fate string, err error) {
	overlay, err := t.overlay(m)
	if err != nil {
		return "", err
	}
	if err := t.prepare(p); err != nil {
		return "", err
	}
	if t.command("build", "-overlay", overlay, "-o", os.DevNull, p.path).Run() != nil {
		return "", nil
	}
	if fate, err = t.fate(overlay, p); fate == "" || err != nil {
		return "", err
	}
	t.tried++
	if fate == "killed" {
		t.killed++
	}
	fmt.Printf("%-12s %s\n", fate, m)
	return fate, nil
}

// prepare runs the tests of a package as it is. They have to pass, and how long they take
// says when those of a mutant are ended.
func (t *tests) prepare(p pkg) error {
	if t.of == p.path || !p.tested {
		return nil
	}
	began := time.Now()
	if out, err := t.command("test", "-vet=off", "-count=1", "-short", p.path).CombinedOutput(); err != nil {
		return fmt.Errorf("without a mutant the tests of %s fail: %w\n%s", p.path, err, out)
	}
	t.of, t.deadline = p.path, time.Minute+5*time.Since(began)
	return nil
}

// fate is "" where the tests do not compile with the mutant.
func (t *tests) fate(overlay string, p pkg) (string, error) {
	if !p.tested {
		return "no tests", nil
	}
	out, err := t.command("test", "-vet=off", "-count=1", "-short", "-failfast", "-timeout", t.deadline.String(), "-overlay", overlay, p.path).CombinedOutput()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return "alive", nil
	case bytes.Contains(out, []byte("[build failed]")):
		return "", nil
	// Without its own alarm, as in an initialiser, a test is ended by go test.
	case bytes.Contains(out, []byte("panic: test timed out after ")), bytes.Contains(out, []byte("*** Test killed with ")):
		return "timed out", nil
	case errors.As(err, &failed):
		return "killed", nil
	default:
		return "", err
	}
}

func (t *tests) command(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = t.dir
	return cmd
}

// overlay writes the broken file beside the tree, and returns the file that tells go
// build of it.
func (t *tests) overlay(m mutant) (string, error) {
	text, err := m.text()
	if err != nil {
		return "", err
	}
	broken, file := filepath.Join(t.scratch, "broken.go"), filepath.Join(t.scratch, "overlay.json")
	said, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: broken}})
	if err != nil {
		return "", err
	}
	return file, errors.Join(os.WriteFile(broken, text, 0o600), os.WriteFile(file, said, 0o600))
}
