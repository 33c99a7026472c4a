package pemfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

type warnings struct{ texts []string }

func (w *warnings) add(err error) { w.texts = append(w.texts, err.Error()) }

func (w *warnings) want(t *testing.T, n int, words string) {
	t.Helper()
	if len(w.texts) != n || n > 0 && !strings.Contains(w.texts[n-1], words) {
		t.Errorf("warnings are %q; want %d, the last with %q", w.texts, n, words)
	}
}

func nameOf(p *Pair) string { return p.Get().Leaf.Subject.CommonName }

func issue(a *xdstest.Authority, name string) *xdstest.Credential {
	return a.Issue(xdstest.Leaf{CommonName: name})
}

// age makes a file look as if it had been written long ago.
func age(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := os.Chtimes(p, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A certificate and its key are written one after the other: in between the old
// pair stays in force, with one warning.
func TestPairIsReplaced(t *testing.T) {
	dir, root, warned := t.TempDir(), xdstest.NewAuthority("root"), &warnings{}
	cert, key, err := issue(root, "one").Write(dir, "leaf")
	if err != nil {
		t.Fatal(err)
	}
	p, err := OpenPair(cert, key, warned.add)
	if err != nil {
		t.Fatal(err)
	}
	two := issue(root, "two")
	put(t, cert, two.CertPEM())
	for range 3 {
		if got := nameOf(p); got != "one" {
			t.Fatalf("with half a pair, %q is in force", got)
		}
	}
	warned.want(t, 1, "is not the key of the certificate")
	put(t, key, two.KeyPEM())
	if got := nameOf(p); got != "two" {
		t.Errorf("%q is in force", got)
	}
	put(t, cert, two.CertPEM()[:100])
	nameOf(p)
	warned.want(t, 2, "no certificate in PEM form")
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := nameOf(p); got != "two" {
			t.Errorf("%q is in force after the file is gone", got)
		}
	}
	warned.want(t, 3, "no such file")
	put(t, cert, two.CertPEM())
	nameOf(p)
	warned.want(t, 3, "no such file")
}

// Two changes in the same moment have the same time and the same size.
func TestChangeWithinOneTick(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "f"), time.Now()
	write := func(text string) {
		put(t, path, []byte(text))
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
	}
	write("aa")
	f, err := Open(func(c [][]byte) (string, error) { return string(c[0]), nil }, func(error) {}, path)
	if err != nil {
		t.Fatal(err)
	}
	write("bb")
	if got := f.Get(); got != "bb" {
		t.Errorf("got %q", got)
	}
}

// What has not changed is not read again.
func TestOldFilesAreReadOnce(t *testing.T) {
	path, reads := filepath.Join(t.TempDir(), "f"), 0
	put(t, path, []byte("x"))
	age(t, path)
	f, err := Open(func([][]byte) (int, error) { reads++; return reads, nil }, func(error) {}, path)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		f.Get()
	}
	if reads != 1 {
		t.Errorf("parsed %d times", reads)
	}
}

// Kubernetes puts a directory of new files beside the old one, and moves a
// symbolic link to it.
func TestSymlinkSwap(t *testing.T) {
	dir, root := t.TempDir(), xdstest.NewAuthority("root")
	for _, name := range []string{"..1", "..2"} {
		sub := filepath.Join(dir, name)
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		cert, key, err := issue(root, name).Write(sub, "tls")
		if err != nil {
			t.Fatal(err)
		}
		age(t, cert, key)
	}
	link := func(to string) {
		if err := os.Symlink(to, filepath.Join(dir, "..new")); err != nil {
			t.Skip(err)
		}
		if err := os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	link("..1")
	warned := &warnings{}
	p, err := OpenPair(filepath.Join(dir, "..data", "tls.pem"), filepath.Join(dir, "..data", "tls.key"), warned.add)
	if err != nil {
		t.Fatal(err)
	}
	link("..2")
	if got := nameOf(p); got != "..2" {
		t.Errorf("%q is in force", got)
	}
	warned.want(t, 0, "")
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir, root := t.TempDir(), xdstest.NewAuthority("root")
	cert, key, err := issue(root, "one").Write(dir, "one")
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := issue(root, "two").Write(dir, "two")
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		put(t, path, []byte(text))
		return path
	}
	locked := file("locked.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
	broken := file("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	for name, tc := range map[string]struct{ cert, key, path, text string }{
		"absent":        {filepath.Join(dir, "none"), key, filepath.Join(dir, "none"), "no such file or directory"},
		"directory":     {dir, key, dir, "it is no regular file"},
		"empty":         {file("empty", ""), key, filepath.Join(dir, "empty"), "there is no certificate in PEM form in it"},
		"key for cert":  {key, key, key, "there is no certificate in it, only PRIVATE KEY"},
		"cert for key":  {cert, cert, cert, "there is no private key in it, only CERTIFICATE"},
		"encrypted key": {cert, locked, locked, "the key in it is encrypted; there is nobody to ask for a passphrase"},
		"other key":     {cert, other, other, "it is not the key of the certificate in \"" + cert + "\""},
		"broken":        {broken, key, broken, "certificate 1 in it cannot be read: malformed certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenPair(tc.cert, tc.key, nil)
			e, ok := err.(*Error)
			if !ok || e.Path != tc.path || !strings.Contains(e.Err.Error(), tc.text) {
				t.Errorf("error is %v; want %q: %s", err, tc.path, tc.text)
			}
		})
	}
	if _, err := OpenRoots(broken, nil); err == nil || !strings.Contains(err.Error(), "certificate 1 in it cannot be read") {
		t.Errorf("broken roots give %v", err)
	}
	roots, err := OpenRoots(file("bundle", "a comment\n"+string(root.CertPEM())+string(xdstest.NewAuthority("x").CertPEM())), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range roots.Get().Certs {
		names = append(names, c.Subject.CommonName)
	}
	if !slices.Equal(names, []string{"root", "x"}) {
		t.Errorf("roots are %v", names)
	}
}

// FuzzRoots: no bundle of certificates makes the reader panic, and what it
// reads can be used.
func FuzzRoots(f *testing.F) {
	f.Add(xdstest.NewAuthority("root").CertPEM())
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n-----END EC PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		holdsKey(text)
		certs, err := Certificates(text)
		if err == nil && len(certs) == 0 {
			t.Error("no certificate, and no complaint")
		}
	})
}
