//go:build unix

package settings

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/held"
	"github.com/xdsproxy/xdsproxy/proxy"
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

// The key logs of all listeners are opened, each once, and closed; if one cannot be,
// none is left open.
func TestOpenKeyLogs(t *testing.T) {
	dir := t.TempDir()
	logs := keyLogs{}
	tls := func(name string) *proxy.ListenTLS { return &proxy.ListenTLS{KeyLog: logs.of(filepath.Join(dir, name))} }
	one, two := logs.of(filepath.Join(dir, "one")), logs.of(filepath.Join(dir, "two"))
	pairs := []proxy.Pair{{ListenTLS: tls("one")}, {}, {ListenTLS: tls("one"), UpstreamTLS: &proxy.UpstreamTLS{KeyLog: two}}}
	if got := KeyLogsOf(pairs); !slices.Equal(got, []*keyLog{one, two}) {
		t.Errorf("%v", got)
	}
	if _, err := one.Write([]byte("early")); err == nil {
		t.Error("it is written before it is open")
	}
	shut, err := OpenKeyLogs(pairs)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*keyLog{one, two} {
		if _, err := k.Write([]byte("line\n")); err != nil {
			t.Error(err)
		}
	}
	shut()
	if _, err := one.Write([]byte("late")); err == nil {
		t.Error("it is written after it was closed")
	}
	if text, err := os.ReadFile(one.Path); err != nil || string(text) != "line\n" {
		t.Errorf("%q, %v", text, err)
	}
	two.Path = dir
	if _, err := OpenKeyLogs(pairs); err == nil || !strings.HasPrefix(err.Error(), "cannot open the key log: ") {
		t.Error(err)
	}
	if _, err := one.Write([]byte("late")); err == nil {
		t.Error("one is left open")
	}
}

// Clients that were found are asked beside those that were named, but not twice.
func TestHeldFound(t *testing.T) {
	place := func(addr string) held.Place {
		p, err := held.Parse(held.EnvoyAdmin, addr)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ss, err := resolved(t, nil, "", "--envoy-admin", "127.0.0.1:9901", "--files", "d")
	if err != nil {
		t.Fatal(err)
	}
	o, err := ss.Held(place("127.0.0.1:9902"), place("127.0.0.1:9901"), place("127.0.0.1:9902"))
	if err != nil || len(o.Places) != 2 || o.Places[1].Address != "127.0.0.1:9902" || !o.Files {
		t.Errorf("%+v, %v", o, err)
	}
}

// What the help says of the environment has every setting.
func TestEnvironmentHelp(t *testing.T) {
	ss := New()
	help := ss.EnvironmentHelp()
	for _, s := range ss.Table {
		if !strings.Contains(help, " "+s.Variable()+" ") || !strings.Contains(help, " --"+s.Name+"\n") {
			t.Errorf("there is no %s", s.Name)
		}
	}
	if !strings.HasPrefix(help, "A setting comes from the first of these that names it:\n") || !strings.HasSuffix(help, "where it came from.\n") {
		t.Errorf("%.80s", help)
	}
}

// Types that are to be in a recording have to be known.
func TestEmbedded(t *testing.T) {
	ss, err := resolved(t, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if set, err := ss.Embedded(); set != nil || err != nil {
		t.Errorf("%d bytes, %v", len(set), err)
	}
	ss.EmbedDescriptors = true
	if _, err := ss.Embedded(); err == nil || !strings.HasPrefix(err.Error(), "--embed-descriptors, and no type is described") {
		t.Error(err)
	}
	ss.descriptors = []string{"nowhere.pb"}
	if err := ss.ReadTypes(&console.Console{Ctx: t.Context(), Stderr: io.Discard}); err == nil || !strings.Contains(err.Error(), "nowhere.pb") {
		t.Error(err)
	}
}
