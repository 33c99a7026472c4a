// Mutants draws places of a module's code by chance, breaks one at a time, and says
// whether the tests of the package that holds it notice. No two are of one package; a
// package is drawn by its lines. The same seed draws the same places of the same tree.
//
//	mutants -spread 28 -seed 1 DIR
//
// The code is broken as gremlins does it by default, and in a copy that only the compiler
// sees (go build -overlay): the tree stays as it is. A mutant that does not compile is
// drawn again. One that outlasts its deadline counts as alive: go test ended it, and no
// test noticed anything.
package main

import (
	"bytes"
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
	spread := flag.Int("spread", 28, "so many mutants, each of another package")
	seed := flag.Uint64("seed", 1, "of chance")
	deadline := flag.Duration("deadline", 10*time.Minute, "for the tests of one mutant")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "name the directory of one module: mutants -spread 28 -seed 1 DIR")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *spread, *seed, *deadline); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, spread int, seed uint64, deadline time.Duration) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	packages, err := list(dir)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)

	t := tests{dir: dir, scratch: scratch, deadline: deadline}
	chance := rand.New(rand.NewPCG(seed, 0))
	drawn, killed := 0, 0
	for drawn < spread && len(packages) > 0 {
		n := byLines(chance, packages)
		p := packages[n]
		packages = append(packages[:n], packages[n+1:]...)
		m, fate, err := t.of(chance, p)
		if err != nil {
			return err
		}
		if fate == "" { // nothing of it can be broken so that it compiles
			continue
		}
		drawn++
		if fate == "killed" {
			killed++
		}
		fmt.Printf("%-12s %s\n", fate, m)
	}
	fmt.Printf("%d of %d killed\n", killed, drawn)
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
	dir, scratch string
	deadline     time.Duration
}

// of draws a mutant of a package that compiles, and says what the package's tests made of
// it: killed, alive, timed out, no tests, or that they fail without it, too; nothing if there
// is no such mutant.
func (t tests) of(chance *rand.Rand, p pkg) (mutant, string, error) {
	for _, n := range chance.Perm(len(p.mutants)) {
		m := p.mutants[n]
		overlay, err := t.overlay(m)
		if err != nil {
			return m, "", err
		}
		if err := t.command("build", "-overlay", overlay, "-o", os.DevNull, p.path).Run(); err != nil {
			continue
		}
		if !p.tested {
			return m, "no tests", nil
		}
		if t.command("test", "-vet=off", "-count=1", "-short", "-timeout", t.deadline.String(), p.path).Run() != nil {
			return m, "fails anyway", nil
		}
		out, err := t.command("test", "-vet=off", "-count=1", "-short", "-failfast", "-timeout", t.deadline.String(), "-overlay", overlay, p.path).CombinedOutput()
		var failed *exec.ExitError
		switch {
		case err == nil:
			return m, "alive", nil
		case bytes.Contains(out, []byte("panic: test timed out after ")):
			return m, "timed out", nil
		case errors.As(err, &failed):
			return m, "killed", nil
		default:
			return m, "", err
		}
	}
	return mutant{}, "", nil
}

func (t tests) command(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = t.dir
	return cmd
}

// overlay writes the broken file beside the tree, and returns the file that tells go
// build of it.
func (t tests) overlay(m mutant) (string, error) {
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
