package internal_test

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFloors holds the table of floors in docs/ARCHITECTURE.md against the
// imports: every package stands on one floor, and imports nothing from below.
func TestFloors(t *testing.T) {
	pkgs := listPackages(t)
	floors, names := readFloors(t, pkgs)
	// The demo of the README has the control plane of the tests.
	down := map[[2]string]bool{{"cmd/xdsproxy", "internal/xdstest"}: false}
	for _, p := range pkgs {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		from, ok := floorOf(floors, name)
		if !ok {
			if name != "internal" { // these tests
				t.Errorf("docs/ARCHITECTURE.md has no floor for %s", name)
			}
			continue
		}
		for _, imp := range p.Imports {
			in, ours := strings.CutPrefix(imp, module+"/")
			to, ok := floorOf(floors, in)
			if !ours || !ok || to <= from {
				continue
			}
			arrow := [2]string{name, in}
			if _, known := down[arrow]; !known {
				t.Errorf("%s (%s) imports %s from below (%s)", name, names[from], in, names[to])
			}
			down[arrow] = true
		}
	}
	for arrow, used := range down {
		if !used {
			t.Errorf("%s may import %s from below, and does not", arrow[0], arrow[1])
		}
	}
}

// readFloors gives the floor of each room that the table names, and the names
// of the floors. A room is named by its path, or by the end of it: see roots.
func readFloors(t *testing.T, pkgs []goPackage) (map[string]int, []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	roots := []string{"", "internal/", "replay/", "tui/"}
	isRoom := func(name string) bool {
		return slices.ContainsFunc(pkgs, func(p goPackage) bool {
			return strings.HasPrefix(p.ImportPath+"/", module+"/"+name+"/")
		})
	}
	rooms := regexp.MustCompile("`([^`]+)`")
	floors, names := map[string]int{}, []string{}
	for row := range strings.Lines(string(text)) {
		head, rest, ok := strings.Cut(strings.TrimPrefix(row, "| **"), "** |")
		if !ok || !strings.HasPrefix(row, "| **") {
			continue
		}
		for _, m := range rooms.FindAllStringSubmatch(rest, -1) {
			end := strings.TrimSuffix(m[1], "/...")
			i := slices.IndexFunc(roots, func(root string) bool { return isRoom(root + end) })
			if i < 0 {
				t.Errorf("docs/ARCHITECTURE.md names %s, and there is no such package", m[1])
				continue
			}
			if _, twice := floors[roots[i]+end]; twice {
				t.Errorf("docs/ARCHITECTURE.md names %s twice", m[1])
			}
			floors[roots[i]+end] = len(names)
		}
		names = append(names, head)
	}
	return floors, names
}

// floorOf gives the floor of a package: its own, or that of the room it is in.
func floorOf(floors map[string]int, name string) (int, bool) {
	for ; name != "."; name = path.Dir(name) {
		if floor, ok := floors[name]; ok {
			return floor, true
		}
	}
	return 0, false
}
