package mint

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

func open(t *testing.T, dir string) *Authority {
	t.Helper()
	a, err := Open(dir, func(err error) { t.Errorf("warned of %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func poolOf(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, CertFile))
	if err != nil {
		t.Fatal(err)
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(text) {
		t.Fatal("no certificate in the authority's file")
	}
	return p
}

// Whoever trusts the file that is written takes the leaves.
func TestLeaves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "ca")
	a := open(t, dir)
	for _, name := range []string{
		"istiod.istio-system.svc", "localhost", "127.0.0.1", "::1", "with_underscore.example",
		strings.Repeat("long.", 50) + "a",
	} {
		leaf, err := a.Leaf(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: poolOf(t, dir), DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again, _ := a.Leaf(strings.ToUpper(name)); again != leaf {
			t.Errorf("%s was minted twice", name)
		}
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, KeyFile): 0o600, filepath.Join(dir, CertFile): 0o644} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("the directory holds %v", files)
	}
}

func TestNamesThatAreNone(t *testing.T) {
	a := open(t, t.TempDir())
	for _, name := range []string{"", ".", "a..b", "a b", "*.example.com", "a\n", "ä.example", strings.Repeat("a", 64), strings.Repeat("a.", 127)} {
		if _, err := a.Leaf(name); err == nil {
			t.Errorf("%q was minted", name)
		}
	}
}

func TestLeavesAreBounded(t *testing.T) {
	a := open(t, t.TempDir())
	kept, err := a.Leaf("kept")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxLeaves {
		if _, err := a.Leaf(fmt.Sprintf("n%d", i)); err != nil {
			t.Fatal(err)
		}
		if again, _ := a.Leaf("kept"); again != kept {
			t.Fatal("what is asked for all the time was forgotten")
		}
	}
	if len(a.leaves) != maxLeaves || a.recent.Len() != maxLeaves {
		t.Errorf("%d leaves are kept, %d in order", len(a.leaves), a.recent.Len())
	}
}

func TestLeavesAreRenewed(t *testing.T) {
	a := open(t, t.TempDir())
	first, err := a.Leaf("a")
	if err != nil {
		t.Fatal(err)
	}
	now := first.Leaf.NotAfter.Add(-renewTime + time.Minute)
	a.now = func() time.Time { return now }
	second, err := a.Leaf("a")
	if err != nil || second == first || !second.Leaf.NotAfter.After(first.Leaf.NotAfter) {
		t.Errorf("shortly before the end of a leaf there is no other: %v", err)
	}
	now = a.root.Leaf.NotAfter.Add(-time.Hour)
	last, err := a.Leaf("a")
	if err != nil || last.Leaf.NotAfter.After(a.root.Leaf.NotAfter) {
		t.Errorf("a leaf outlives its authority: %v", err)
	}
	if again, _ := a.Leaf("a"); again != last {
		t.Error("minted anew at each request")
	}
	now = now.Add(2 * time.Hour)
	if _, err := a.Leaf("a"); err == nil {
		t.Error("an authority that has expired signs")
	}
}

// Processes that start at the same time share one authority.
func TestRace(t *testing.T) {
	dir := t.TempDir()
	serials := make([]string, 16)
	var all sync.WaitGroup
	for i := range serials {
		all.Go(func() {
			a, err := Open(dir, func(error) {})
			if err != nil {
				t.Error(err)
				return
			}
			leaf, err := a.Leaf("a")
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: poolOf(t, dir), DNSName: "a"}); err != nil {
				t.Error(err)
			}
			serials[i] = a.root.Leaf.SerialNumber.String()
		})
	}
	all.Wait()
	for _, s := range serials {
		if s != serials[0] {
			t.Fatalf("different authorities: %v", serials)
		}
	}
}

func TestAuthoritiesThatAreRefused(t *testing.T) {
	put := func(dir string, c *xdstest.Credential, mode os.FileMode) {
		for name, data := range map[string][]byte{CertFile: c.CertPEM(), KeyFile: c.KeyPEM()} {
			if err := os.WriteFile(filepath.Join(dir, name), data, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	root := xdstest.NewAuthority("someone's own")
	for name, tc := range map[string]struct {
		make func(dir string)
		text string
	}{
		"open to all": {func(dir string) { put(dir, &root.Credential, 0o644) }, "its mode is 0644"},
		"no CA":       {func(dir string) { put(dir, root.Issue(xdstest.Leaf{}), 0o600) }, "no certificate of an authority"},
		"no key":      {func(dir string) { put(dir, &root.Credential, 0o600); os.Remove(filepath.Join(dir, KeyFile)) }, "no such file"},
		"no directory": {func(dir string) {
			os.Remove(dir)
			os.WriteFile(dir, nil, 0o600)
		}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			tc.make(dir)
			if _, err := Open(dir, nil); err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error is %v", err)
			}
		})
	}
	dir := t.TempDir()
	put(dir, &root.Credential, 0o640)
	if leaf, err := open(t, dir).Leaf("a"); err != nil || leaf.Leaf.Issuer.CommonName != "someone's own" {
		t.Errorf("an authority of one's own signs %v", err)
	}
}

// A process that ended between the two files leaves a key; the next one signs
// with it.
func TestKeyWithoutCertificate(t *testing.T) {
	dir := t.TempDir()
	before := open(t, dir)
	if _, err := before.Leaf("a"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, CertFile)); err != nil {
		t.Fatal(err)
	}
	after := open(t, dir)
	if leaf, err := after.Leaf("a"); err != nil || leaf.Leaf.CheckSignatureFrom(before.root.Leaf) != nil {
		t.Errorf("it is not the same key: %v", err)
	}
}
