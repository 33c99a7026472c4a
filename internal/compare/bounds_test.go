package compare

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// What was not sent for longest goes when there are too many bytes, and is counted. What
// is sent last stays, however large.
func TestContentsAreBounded(t *testing.T) {
	const limit = 1600
	k := contents{limit: limit}
	body := &decode.Resource{Body: make([]byte, limit/16)}
	for i := range byte(40) {
		k.keep([16]byte{i}, body)
		k.keep([16]byte{0}, body) // that comes again and again
	}
	if all := k.byHash.Cost(); all > limit || all < limit/2 {
		t.Errorf("%d bytes are kept", all)
	}
	kept := 0
	for i := range byte(40) {
		if k.get([16]byte{i}) != nil {
			kept++
		}
	}
	gone := 0
	for i := range byte(60) { // the last 20 never were there
		if k.lost([16]byte{i}) {
			gone++
		}
	}
	if kept+gone != 40 || gone == 0 {
		t.Errorf("%d are kept, and %d are said to be gone", kept, gone)
	}
	if k.get([16]byte{0}) == nil || k.get([16]byte{39}) == nil || k.get([16]byte{1}) != nil {
		t.Error("it is not what was sent last that is there")
	}
	large := &decode.Resource{Body: make([]byte, limit+1)}
	for i := range byte(2) {
		k.keep([16]byte{100 + i}, large)
	}
	if k.get([16]byte{100}) == nil || k.get([16]byte{101}) == nil {
		t.Error("of two that are too large not both are there")
	}
}

// So many names are remembered, to find one that is meant.
func TestNamesAreBounded(t *testing.T) {
	s := survey{names: make(map[string]struct{}, maxSurvey), seen: newSurvey().seen}
	for i := range maxSurvey - 1 {
		s.names[strconv.Itoa(i)] = struct{}{}
	}
	s.see(&check.Change{Change: engine.Change{Message: &decode.Message{Resources: []decode.Resource{{Name: "last"}, {Name: "one more"}}}}})
	_, last := s.names["last"]
	if _, more := s.names["one more"]; !last || more || len(s.names) != maxSurvey {
		t.Errorf("the last: %v, one more: %v, of %d", last, more, len(s.names))
	}
}

// responses goes through those of a recording.
func responses(t *testing.T, name string, see func(c *check.Change)) {
	t.Helper()
	c := &Comparison{Opener: &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}}}
	if err := c.through(t.Context(), "../../check/testdata/"+name, check.NewChecker(check.Options{Rules: []*check.Rule{}}), func(_ *session.Entry, c *check.Change) error {
		if c.Message != nil && c.Message.Response() {
			see(c)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Of so many contents it is known of what they were made: of those that came last.
func TestMadeIsBounded(t *testing.T) {
	var all, some made
	responses(t, "systems/eg-updates-plain.xdsp", all.see)
	for i := range 2 * maxMade {
		var hash [16]byte
		binary.LittleEndian.PutUint32(hash[:], uint32(i))
		some.byHash.Put(hash, sources{}, 1, maxMade)
	}
	was := some.byHash.Cost()
	responses(t, "systems/eg-updates-plain.xdsp", func(c *check.Change) {
		some.see(c)
		for it := range c.Response.AddedOrChanged() {
			a, b := all.of(&engine.Held{Hash: it.Content.Facts.Hash}, nil), some.of(&engine.Held{Hash: it.Content.Facts.Hash}, nil)
			if len(a.list) != len(b.list) {
				t.Fatalf("%s was made of %v, and %v is known", it.Name, a.list, b.list)
			}
		}
	})
	if is := some.byHash.Cost(); all.byHash.Cost() < 2 || was > maxMade || is > maxMade {
		t.Errorf("of %d contents it is known, then of %d", was, is)
	}
}

// What clients accepted last of a resource that changes all the time is what is there to be
// compared, not what came first.
func TestWhatWasSentLastIsKept(t *testing.T) {
	var last [16]byte
	k := contents{limit: 1}
	responses(t, "systems/eg-updates-plain.xdsp", func(c *check.Change) {
		if c.Response == nil || c.Resource("default/eg/http") == nil {
			return
		}
		k.see(c, "default/eg/http")
		for _, it := range c.Response.Resolved {
			if it.Name == "default/eg/http" {
				last = it.Content.Facts.Hash
			}
		}
	})
	if r := k.get(last); r == nil || r.Name != "default/eg/http" || len(k.met) < 2 {
		t.Errorf("%v is there, of %d", r, len(k.met))
	}
}

// What was kept with masks in it has some, and nothing else is kept.
func TestMaskedContentsAreKept(t *testing.T) {
	k, all := contents{limit: maxContents}, map[[16]byte]bool{}
	responses(t, "sessions/envoy-sotw-secrets.xdsp", func(c *check.Change) {
		k.see(c, "")
		if c.Response != nil {
			for _, it := range c.Response.Resolved {
				all[it.Content.Facts.Hash] = true
			}
		}
	})
	kept := 0
	for hash := range all {
		if r := k.get(hash); r != nil {
			if kept++; !mask.Within(r.Body) {
				t.Errorf("%s has no mask", r.Name)
			}
		}
	}
	if kept == 0 || kept == len(all) {
		t.Errorf("%d of %d are kept", kept, len(all))
	}
}

// Two contents that differ, of which one did not fit into memory: that is said, and counted
// as a difference. Of what has no masks the contents are not needed.
func TestContentThatIsGone(t *testing.T) {
	a, b := &engine.Held{Name: "x", Hash: [16]byte{1}}, &engine.Held{Name: "x", Hash: [16]byte{2}}
	full := map[[16]byte]struct{}{}
	for i := range maxMet {
		full[[16]byte{3, byte(i), byte(i >> 8), byte(i >> 16)}] = struct{}{}
	}
	for _, c := range []struct {
		met    map[[16]byte]struct{}
		unkept int
	}{{nil, 0}, {map[[16]byte]struct{}{{3}: {}}, 0}, {map[[16]byte]struct{}{b.Hash: {}}, 1}, {full, 1}} {
		var d render.TypeDiff
		s := sessions{f: &Comparison{}, a: &holder{}, b: &holder{contents: contents{met: c.met}}}
		s.resource(&d, clientPair{}, a, b)
		if s.unkept != c.unkept || d.Differ != 1 || !s.differs {
			t.Errorf("of %d that were met, %d are not known; %d differ", len(c.met), s.unkept, d.Differ)
		}
	}
	k := contents{met: full, limit: 1}
	if k.keep([16]byte{9}, &decode.Resource{}); len(k.met) != maxMet {
		t.Errorf("%d are remembered", len(k.met))
	}
}

// Contents that differ only in the order in which they were written are the same.
func TestContentsThatAreTheSameForPeople(t *testing.T) {
	const name = "\x0a\x01x" // field 1 of a cluster; 28 is its name in statistics
	url := xds.TypeURL("CDS")
	one, other, differs := name+"\xe2\x01\x01s", "\xe2\x01\x01s"+name, name+"\xe2\x01\x01t"
	for _, v := range []struct {
		a, b   string
		differ int
	}{{one, other, 0}, {one, differs, 1}} {
		a, b := &engine.Held{Name: "x", Hash: [16]byte{1}}, &engine.Held{Name: "x", Hash: [16]byte{2}}
		s := sessions{f: &Comparison{Opener: &input.Opener{}}, a: &holder{contents: contents{limit: 1000}}, b: &holder{contents: contents{limit: 1000}}}
		s.a.contents.keep(a.Hash, &decode.Resource{Name: "x", TypeURL: url, Body: []byte(v.a)})
		s.b.contents.keep(b.Hash, &decode.Resource{Name: "x", TypeURL: url, Body: []byte(v.b)})
		var d render.TypeDiff
		if !s.resource(&d, clientPair{}, a, b) || d.Differ != v.differ || d.Same != 1-v.differ || s.differs != (v.differ > 0) || s.masked+s.veiled != 0 {
			t.Errorf("%q and %q: %+v, and they differ: %v", v.a, v.b, d, s.differs)
		}
	}
}

func TestClientsThatWereSentTheSame(t *testing.T) {
	for want, clients := range map[string][]string{
		"a": {"a"}, "a client without a node id": {""},
		"2 clients, the same for all (a, a client without a node id)": {"a", ""},
		"4 clients, the same for all (a, b, c, d)":                    {"a", "b", "c", "d"},
		"5 clients, the same for all (a, b, c, d and 1 more)":         {"a", "b", "c", "d", "e"},
	} {
		if got := clientText(clients); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Of what was accepted it is known what it was made of, whatever is held.
func TestMadeOfWhatWasAccepted(t *testing.T) {
	var m made
	a := &engine.Held{Hash: [16]byte{1}}
	m.byHash.Put(a.Hash, sources{list: make([]origin.Source, 2), more: true}, 1, maxMade)
	for i, held := range []*configdump.Resource{nil, {TypeURL: xds.TypeURL("CDS")}} {
		if got := m.of(a, held); len(got.list) != 2 || !got.more {
			t.Errorf("%d: %+v", i, got)
		}
		if got := m.of(&engine.Held{}, held); len(got.list) != 0 || got.more {
			t.Errorf("%d: of another one %+v", i, got)
		}
	}
}

// Clients are matched by their node ids, and where each recording has one whatever they are
// called.
func TestPairsOfClients(t *testing.T) {
	of := func(clients string) *holder {
		var text strings.Builder
		for i, c := range strings.Fields(clients) {
			fmt.Fprintf(&text, "-- stream %d\nC> type=CDS V= N= R=[] node=%s\nS< type=CDS V=1 N=a res=[web]\nC> type=CDS V=1 N=a R=[]\n", i+1, c)
		}
		path := filepath.Join(t.TempDir(), "clients.xds")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		c := &Comparison{Opener: &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}}}
		h, err := c.readHoldings(t.Context(), path, "")
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for _, v := range []struct{ a, b, want string }{
		{"a", "a", "[{a a true true}]"},
		{"a", "b", "[{a b true true}]"},
		{"a b", "b", "[{a a true false} {b b true true}]"},
		{"a", "b c", "[{a a true false} {b b false true} {c c false true}]"},
		{"b d", "a d", "[{a a false true} {b b true false} {d d true true}]"},
	} {
		s := sessions{f: &Comparison{Opener: &input.Opener{}}, a: of(v.a), b: of(v.b)}
		if got, err := s.pairs(); fmt.Sprint(got) != v.want || err != nil {
			t.Errorf("%s and %s: %v, %v; want %s", v.a, v.b, got, err, v.want)
		}
	}
}
