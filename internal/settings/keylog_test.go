//go:build unix

package settings

import (
	"os"
	"path/filepath"
	"testing"
)

// Whoever reads a key log reads the traffic: it is for its owner alone, also if it
// was there before, and what it has stays.
func TestKeyLogIsForItsOwner(t *testing.T) {
	for _, before := range []os.FileMode{0, 0o600, 0o640, 0o604, 0o666} {
		path := filepath.Join(t.TempDir(), "keys.log")
		if before != 0 {
			if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, before); err != nil {
				t.Fatal(err)
			}
		}
		f, err := openKeyLog(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("new\n")
		f.Close()
		info, _ := os.Stat(path)
		text, _ := os.ReadFile(path)
		if want := map[bool]string{true: "old\nnew\n", false: "new\n"}[before != 0]; err != nil || info.Mode().Perm() != 0o600 || string(text) != want {
			t.Errorf("that was %v is %v and has %q, %v", before, info.Mode(), text, err)
		}
	}
}
