package compare

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/session"
)

// The oldest contents of a resource go when there are too many bytes of them, and
// two stay in any case.
func TestContentsAreBounded(t *testing.T) {
	for more, first := range map[int]bool{0: true, 1: false} {
		k := contents{bytes: maxContents - 3 + more}
		for i := range 3 {
			k.keep([16]byte{byte(i)}, &decode.Resource{Body: []byte{1}})
		}
		if (k.byHash[[16]byte{0}] != nil) != first || k.byHash[[16]byte{1}] == nil || k.byHash[[16]byte{2}] == nil {
			t.Errorf("with %d bytes more than there is room for: %v", more, k.order)
		}
	}
	k := contents{bytes: maxContents}
	k.keep([16]byte{0}, &decode.Resource{Body: []byte{1}})
	if k.keep([16]byte{1}, &decode.Resource{Body: []byte{1}}); len(k.byHash) != 2 {
		t.Errorf("two contents that are too large: %v", k.order)
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

// Contents with masks are kept up to so many bytes.
func TestMaskedAreBounded(t *testing.T) {
	const name = "sessions/envoy-sotw-secrets.xdsp"
	var all bodies
	responses(t, name, all.keep)
	for more, kept := range map[int]bool{0: true, 1: false} {
		k := bodies{bytes: maxSessionContents - all.bytes + more}
		if responses(t, name, k.keep); (len(k.byHash) == len(all.byHash)) != kept || len(all.byHash) == 0 {
			t.Errorf("with %d bytes more than there is room for: %d of %d are kept", more, len(k.byHash), len(all.byHash))
		}
	}
}

// Of so many contents it is known of what they were made.
func TestMadeIsBounded(t *testing.T) {
	const name = "systems/eg-updates-plain.xdsp"
	all := made{}
	responses(t, name, all.see)
	some := make(made, maxMade)
	for i := range maxMade - 1 {
		var hash [16]byte
		binary.LittleEndian.PutUint32(hash[:], uint32(i))
		some[hash] = sources{}
	}
	if responses(t, name, some.see); len(some) != maxMade || len(all) < 2 {
		t.Errorf("of %d contents and %d it is known of %d", maxMade-1, len(all), len(some))
	}
}
