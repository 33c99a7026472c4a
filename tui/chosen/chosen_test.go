package chosen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChoicesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "screen.json")
	a, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("nothing was chosen, and there is a file")
	}
	l := a.Of("Clients")
	l.Resize("CLIENT", 22, +4)
	l.Sort = "name"
	if l.Toggle("KIND") {
		t.Error("it is still shown")
	}
	if err := a.Save(path); err != nil {
		t.Fatal(err)
	}
	about, err := os.Stat(path)
	if err != nil || about.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", about, err)
	}
	b, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	l = b.Of("Clients")
	if l.Width("CLIENT", 22, 100) != 26 || l.Width("KIND", 7, 100) != 0 || l.Width("LAST", 5, 100) != 5 || l.Sort != "name" {
		t.Errorf("%+v", l)
	}
	if l.Width("CLIENT", 22, 10) != 10 || l.Width("CLIENT", 0, 10) != 0 {
		t.Error("a column is wider than there is room")
	}
	l.Toggle("KIND")
	*l = List{}
	if err := b.Save(path); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(path); err != nil || !c.Of("Clients").Plain() || c.Of("Clients").Sort != "" {
		t.Errorf("what was taken back is still there: %v", err)
	}
}

func hostileFiles() []string {
	return []string{
		"", "{", "[]", "null{", `{"Clients": null}`, `{"Clients": {"widths": {"CLIENT": -1}}}`, `{"Clients": {"widths": {"CLIENT": 1000000000}}}`,
		`{"Clients": {"widths": {"CLIENT": "wide"}}}`, `{"Clients": {"hidden": [` + strings.Repeat(`"x",`, 100) + `"x"]}}`,
		`{"` + strings.Repeat("x", 100) + `": {}}`, strings.Repeat(" ", maxFile+1), "\xff\x00",
	}
}

func TestBrokenFilesAreIgnored(t *testing.T) {
	dir := t.TempDir()
	for _, text := range hostileFiles() {
		path := filepath.Join(dir, "screen.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), "is not used") || !a.Of("Clients").Plain() {
			t.Errorf("%.60q: %v", text, err)
		}
		a.Of("Clients").Resize("CLIENT", 20, 1) // and it can be written anew
		if err := a.Save(path); err != nil {
			t.Fatal(err)
		}
		if a, err = Load(path); err != nil || a.Of("Clients").Plain() {
			t.Errorf("%.60q is still there: %v", text, err)
		}
	}
	if a, err := Load(dir); err == nil || a == nil {
		t.Error("a directory was read")
	}
}

func FuzzTake(f *testing.F) {
	for _, text := range hostileFiles() {
		f.Add([]byte(text))
	}
	f.Add([]byte(`{"Timeline": {"widths": {"CLIENT": 30}, "hidden": ["NONCE"], "sort": "SIZE", "turned": true}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := new(All)
		if a.take(data) != nil {
			return
		}
		for title, l := range a.lists {
			for c := range l.Widths {
				if n := a.Of(title).Width(c, 10, 80); n < 0 || n > 80 {
					t.Fatalf("%d columns", n)
				}
			}
		}
	})
}
