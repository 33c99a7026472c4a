package folder

import (
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a peer calls a resource, its file is in the folder, and another one than
// that of any other name, also where case does not count.
func TestNames(t *testing.T) {
	n := newNames()
	taken := map[string]string{}
	for _, name := range []string{
		"", "a", "A", "a", ".", "..", "../../etc/passwd", "/etc/passwd", `..\..\x`, "con", "CON.txt", "nul", "COM1", "a.", "a ", "a/b", "a|b", "a:b",
		"a_b", "a_b+12345678", "ü", "\x00", "\xff", "\x1b[31m", "-rf", ".hidden", strings.Repeat("x", 300), strings.Repeat("x", 301), "a\nb", "x@1.yaml",
	} {
		for _, typ := range []string{"Cluster", "cluster", "", "..", "a/b"} {
			path := n.next(typ, name)
			stem, _, _ := strings.Cut(strings.ToLower(path), "@")
			if was, is := taken[stem]; is && was != typ+"\x00"+name {
				t.Errorf("%q of %s has the file of %q: %s", name, typ, was, path)
			}
			taken[stem] = typ + "\x00" + name
			dir, file, _ := strings.Cut(strings.TrimPrefix(path, "resources/"), "/")
			for _, part := range []string{dir, file} {
				low, _, _ := strings.Cut(strings.ToLower(part), ".")
				if part == "" || part[0] == '.' || len(part) > 200 || strings.ContainsAny(part, "/\\:*?\"<>| \x00\n") || low == "con" || low == "nul" {
					t.Errorf("%q of %q becomes %s", name, typ, path)
				}
			}
			if !filepath.IsLocal(path) || !strings.HasPrefix(path, "resources/") {
				t.Errorf("%q of %q becomes %s", name, typ, path)
			}
		}
	}
	if got := n.next("Cluster", "b") + " " + n.next("Cluster", "b") + " " + n.next("Listener", "b"); got != "resources/Cluster/b@1.yaml resources/Cluster/b@2.yaml resources/Listener/b@1.yaml" {
		t.Error(got)
	}
}
