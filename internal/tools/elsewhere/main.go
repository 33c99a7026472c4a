// Elsewhere type-checks the packages and tests of a module as another system sees
// them, from their sources alone. A compiler would first compile a thousand packages
// for that system, which takes minutes. What only a linker finds, and go vet, stays
// unseen.
//
//	elsewhere DIR windows/amd64 darwin/arm64
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	bad := false
	for _, platform := range os.Args[2:] {
		n, err := check(os.Args[1], platform)
		if err != nil {
			bad = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
		}
		fmt.Printf("%s: %d packages of ours, tests counted\n", platform, n)
	}
	if bad {
		os.Exit(1)
	}
}

func check(dir, platform string) (int, error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return 0, errors.New("this is no platform such as windows/amd64")
	}
	list := exec.Command("go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	list.Dir = dir
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := list.Start(); err != nil {
		return 0, err
	}
	s := sources{files: token.NewFileSet(), sizes: types.SizesFor("gc", arch), checked: map[string]*types.Package{"unsafe": types.Unsafe}}
	n, err := s.check(json.NewDecoder(out))
	_, _ = io.Copy(io.Discard, out) // so that it ends
	return n, errors.Join(err, list.Wait())
}

// listed is what go list says of a package. A package and its variant for a test are
// two, and ImportMap says which of them an import means.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

// sources are the packages that were checked so far, by their import paths.
type sources struct {
	files   *token.FileSet
	sizes   types.Sizes
	checked map[string]*types.Package
}

// check reads packages, each after all that it imports, and returns how many are of
// the main module. Of the others it looks at declarations only.
func (s *sources) check(list *json.Decoder) (n int, err error) {
	for {
		var p listed
		if e := list.Decode(&p); e == io.EOF {
			return n, err
		} else if e != nil {
			return n, errors.Join(err, e)
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue // a generated main
		}
		ours := p.Module != nil && p.Module.Main
		if ours {
			n++
		}
		err = errors.Join(err, s.checkOne(p, ours))
	}
}

func (s *sources) checkOne(p listed, ours bool) error {
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(s.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
	}
	var errs []error
	config := types.Config{
		IgnoreFuncBodies: !ours, Sizes: s.sizes,
		Importer: importer(func(path string) (*types.Package, error) {
			if to, ok := p.ImportMap[path]; ok {
				path = to
			}
			if found := s.checked[path]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("%s: go list did not name it", path)
		}),
		Error: func(err error) { errs = append(errs, err) },
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // of a variant: "path [path.test]"
	checked, _ := config.Check(path, s.files, parsed, nil)
	s.checked[p.ImportPath] = checked
	return errors.Join(errs...)
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
