package protofile

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
)

// A file is known by its name below the first of the directories that it is in, and
// what it imports is looked for in all of them, and then in those that it is in.
func TestRoots(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "api", "v1", "a.proto")
	var above []string
	for at := filepath.Dir(file); ; at = filepath.Dir(at) {
		if above = append(above, at); at == filepath.Dir(at) {
			break
		}
	}
	api, other := filepath.Join(dir, "api"), filepath.Join(dir, "other")
	for _, tc := range []struct {
		paths []string
		want  string
	}{
		{nil, "a.proto"},
		{[]string{other}, "a.proto"},
		{[]string{other, api, dir}, "v1/a.proto"},
		{[]string{dir, api}, "api/v1/a.proto"},
	} {
		name, roots, err := rootsOf(file, tc.paths)
		if name != tc.want || !slices.Equal(roots, slices.Concat(tc.paths, above)) || err != nil {
			t.Errorf("%q: %q in %q, %v", tc.paths, name, roots, err)
		}
	}
}

// Sources are bounded in their size and in how deep they are nested.
func TestSourceBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		says string
	}{
		"as long as may be": {strings.Repeat(" ", descriptors.MaxSize), ""},
		"longer":            {strings.Repeat(" ", descriptors.MaxSize+1), "\"x.proto\" is larger than "},
		"as deep as may be": {strings.Repeat("{", maxDepth), ""},
		"deeper":            {strings.Repeat("{", maxDepth+1), "\"x.proto\" is nested too deeply"},
		"many, not nested":  {strings.Repeat("{}", 2*maxDepth), ""},
	} {
		_, err := sourceOf("x.proto", []byte(tc.text))
		if (err != nil) != (tc.says != "") || err != nil && !strings.HasPrefix(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Of a file that is larger as much is read as shows it.
	large := filepath.Join(tree(t, map[string]string{"large": strings.Repeat("x", descriptors.MaxSize+9)}), "large")
	if b, err := read(large); err != nil || len(b) != descriptors.MaxSize+1 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if got := Hint(&ImportError{}); !strings.HasPrefix(got, "--proto-path DIR") {
		t.Error(got)
	}
	if got := Hint(errors.New("another")); !strings.HasPrefix(got, "FILE is a descriptor set") {
		t.Error(got)
	}
}
