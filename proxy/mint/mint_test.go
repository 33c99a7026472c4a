package mint

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/proxy/pemfile"
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

// What lies in the directory and is no key, or cannot be put there, is told with
// its path.
func TestKeysThatCannotBeUsed(t *testing.T) {
	pem := func(block, text string) string {
		return "-----BEGIN " + block + "-----\n" + text + "\n-----END " + block + "-----\n"
	}
	for name, c := range map[string]struct{ key, want string }{
		"text":      {"hello", "there is no key in PEM form in it"},
		"not PKCS8": {pem("EC PRIVATE KEY", "AAAA"), "a key without a certificate beside it has to be PKCS #8: "},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, KeyFile)
		if err := os.WriteFile(path, []byte(c.key), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, nil)
		var at *pemfile.Error
		if !errors.As(err, &at) || at.Path != path || !strings.HasPrefix(at.Err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, CertFile)); err == nil {
			t.Errorf("%s: there is a certificate", name)
		}
	}
}

// The mode of a key is refused for each bit that lets others at it.
func TestModesOfTheKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), KeyFile)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, fine := range map[os.FileMode]bool{
		0o600: true, 0o400: true, 0o700: true, 0o640: true, 0o650: true, 0o620: false, 0o601: false, 0o602: false, 0o604: false, 0o644: false,
	} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := checkMode(path); (err == nil) != fine {
			t.Errorf("%04o: %v", mode, err)
		}
	}
	if err := checkMode(filepath.Join(t.TempDir(), KeyFile)); err == nil {
		t.Error("there is no key")
	}
}

// A file that is there stays, and one that is put there is whole and has its mode.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.pem")
	for range 2 {
		if err := place(path, "CERTIFICATE", []byte("abc"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	first, err := os.ReadFile(path)
	if want := "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"; err != nil || string(first) != want {
		t.Errorf("%q, %v", first, err)
	}
	if err := place(path, "CERTIFICATE", []byte("another"), 0o640); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, first) {
		t.Errorf("%q, %v", again, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
	var at *pemfile.Error
	gone := filepath.Join(dir, "no", "a.pem")
	if err := place(gone, "X", nil, 0o600); !errors.As(err, &at) || at.Path != gone {
		t.Errorf("in no directory: %v", err)
	}
}

// What an authority may do, and for how long.
func TestAuthorityItself(t *testing.T) {
	now := time.Now()
	dir := t.TempDir()
	a := open(t, dir)
	ca := a.files.Get().Leaf
	if !ca.IsCA || ca.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign || !ca.MaxPathLenZero || ca.MaxPathLen != 0 {
		t.Errorf("%+v", ca)
	}
	if d := ca.NotAfter.Sub(ca.NotBefore); d != authorityTime+skew || ca.NotBefore.After(now.Add(-skew+time.Minute)) {
		t.Errorf("it is valid from %s, for %s", ca.NotBefore, d)
	}
	if name := ca.Subject.CommonName; !strings.HasPrefix(name, "xdsproxy debugging CA of ") || len(name) > 64 || ca.Subject.Organization[0] != organization {
		t.Errorf("it is %s", ca.Subject)
	}
	// A leaf ends when its authority does, and is renewed before it ends.
	for left, want := range map[time.Duration]time.Duration{2 * leafTime: leafTime, leafTime: leafTime, leafTime - time.Hour: leafTime - time.Hour, time.Hour: time.Hour} {
		a.now = func() time.Time { return ca.NotAfter.Add(-left) }
		a.leaves, a.root = nil, nil
		leaf, err := a.Leaf("istiod")
		if err != nil {
			t.Fatal(err)
		}
		if got := leaf.Leaf.NotAfter.Sub(a.now()); got != want || !leaf.Leaf.NotBefore.Equal(a.now().Add(-skew)) {
			t.Errorf("%s before its end: a leaf of %s from %s", left, got, leaf.Leaf.NotBefore)
		}
	}
	a.now = func() time.Time { return ca.NotAfter.Add(time.Second) }
	a.leaves, a.root = nil, nil
	if _, err := a.Leaf("istiod"); err == nil || !strings.HasPrefix(err.Error(), "the authority's own certificate expired on ") {
		t.Errorf("%v", err)
	}
	for n, named := range map[int]bool{64: true, 65: false} {
		a.now = time.Now
		name := strings.Repeat("a", 31) + "." + strings.Repeat("b", n-32)
		leaf, err := a.Leaf(name)
		if err != nil || (leaf.Leaf.Subject.CommonName == name) != named || leaf.Leaf.DNSNames[0] != name {
			t.Errorf("a name of %d bytes: %v, %v", n, leaf.Leaf.Subject, err)
		}
	}
}
