package pseudonym

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// dashed is a name of so many words, each of which stays in prose.
func dashed(words int) string { return strings.TrimSuffix(strings.Repeat("for-", words), "-") }

// Names are kept as long as there is room for them.
func TestNamesAreBounded(t *testing.T) {
	n := NewNames(testKey())
	n.size = maxNames - perName - 1
	if !n.keep(1) || n.err != nil {
		t.Errorf("the last name is not kept: %v", n.err)
	}
	if n.keep(0) || !errors.Is(n.err, ErrTooMany) {
		t.Errorf("one more is kept: %v", n.err)
	}
}

// A name is found as a whole in prose if it is not too long and has not too many
// words.
func TestWholeNamesAreBounded(t *testing.T) {
	long := "for-" + strings.Repeat("q", maxWhole-len("for-"))
	for name, whole := range map[string]bool{dashed(maxWords): true, dashed(maxWords + 1): false, long: true, long + "q": false} {
		n := NewNames(testKey())
		out := mapped(t, n, []string{name}, inProse, "it is "+name)[0]
		if strings.Contains(out, "for") == whole {
			t.Errorf("%s became %s", name, out)
		}
	}
}

// What is searched for in what was written: words and names that are not too short,
// and have not too many words.
func TestSearchIsBounded(t *testing.T) {
	letters := strings.TrimSuffix(strings.Repeat("qx-", maxWords), "-")
	for name, found := range map[string]bool{
		"acme": true, "acm": false, "qx-z": true, "q-z": false, letters: true, letters + "-qx": false,
	} {
		n := NewNames(testKey())
		mapped(t, n, []string{name}, inValue)
		if err := n.Search().Name(name); (err != nil) != found {
			t.Errorf("%s: %v", name, err)
		}
	}
	n := NewNames(testKey())
	mapped(t, n, []string{"acme-acm"}, inValue)
	for word, found := range map[string]bool{"acme": true, "acm": false} {
		if err := n.Search().Name(word); (err != nil) != found {
			t.Errorf("a word of a name, %s: %v", word, err)
		}
	}
}

// In bytes and in base64 only names are searched for that are not there by chance.
func TestRawSearchIsBounded(t *testing.T) {
	for name, found := range map[string]bool{"acme-carts": true, "acme-cart": false} {
		n := NewNames(testKey())
		mapped(t, n, []string{name}, inValue)
		r := newRawSearch(n)
		if got := r.find([]byte("\x00" + name)); (got == name) != found {
			t.Errorf("of %s it finds %q", name, got)
		}
		if !found {
			continue
		}
		if got := r.decoded(base64.RawStdEncoding.EncodeToString([]byte("is: " + name + ".")))[:len(name)]; got != name {
			t.Errorf("in base64 it finds %q", got)
		}
	}
}

// Messages and texts in others are followed as deep as they may be nested.
func TestDepthIsBounded(t *testing.T) {
	md := messageType("envoy.config.cluster.v3.Cluster")
	message := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "acme-cart")
	n := NewNames(testKey())
	mapped(t, n, []string{"acme-cart", "acme-name"}, inValue)
	for depth, followed := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		if out := n.message(md, message, depth); bytes.HasPrefix(out, message[:2]) != followed || len(out) != len(message) {
			t.Errorf("a message at depth %d became %q", depth, out)
		}
	}
	for depth, followed := range map[int]bool{maxNested - 1: true, maxNested: false} {
		if out := n.text(`{"name":"acme-cart"}`, inValue, depth); strings.Contains(out, "name") != followed || strings.Contains(out, "acme") {
			t.Errorf("a text at depth %d became %s", depth, out)
		}
		s := n.Search()
		s.walk.names.text(`{"name":"\u0061cme-\u0063art"}`, inValue, depth)
		if (s.found != nil) != followed {
			t.Errorf("in a text at depth %d it finds %v", depth, s.found)
		}
	}
}

// A modulus is at least as long as the shortest that is in use: it is replaced by
// one, and what is shorter as a name is.
func TestModulusIsLong(t *testing.T) {
	for size, is := range map[int]bool{leastModulus: true, leastModulus - 1: false} {
		text := `{"n":"` + strings.Repeat("q", size) + `"}`
		n := NewNames(testKey())
		if out := mapped(t, n, nil, inValue, text)[0]; (shape(out) != shape(text)) != is || len(out) != len(text) {
			t.Errorf("%s became %s", text, out)
		}
	}
}
