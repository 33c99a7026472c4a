// Package gobuild makes programs for tests that run them. go test takes the result of
// such a test from its cache, whatever became of the program: it knows which files of
// the module the test has opened, and not what its children read. So what a program
// is made of is opened here.
package gobuild

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Program runs go build, whose last argument is a package.
func Program(build *exec.Cmd) error {
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(build.Args, " "), err, out)
	}
	_, err := Open(build.Dir, build.Args[len(build.Args)-1])
	return err
}

// Open opens what packages are made of, and what these are made of: the directories,
// of which go test looks at each file, what is embedded, and what says which versions of
// other modules it is built with. It returns their paths.
func Open(dir string, packages ...string) ([]string, error) {
	list := exec.Command("go", append([]string{
		"list", "-deps", "-f", `{{if not .Standard}}{{$dir := .Dir}}{{$dir}}{{with .Module}}{{if .Main}}{{"\n"}}{{.GoMod}}{{end}}{{end}}{{range .EmbedFiles}}{{"\n"}}{{$dir}}/{{.}}{{end}}{{end}}`,
	}, packages...)...)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(list.Args, " "), err)
	}
	paths := slices.Compact(slices.Sorted(strings.SplitSeq(strings.TrimSpace(string(out)), "\n")))
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		_ = f.Close()
	}
	return paths, nil
}
