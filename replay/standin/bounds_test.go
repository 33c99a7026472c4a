package standin

import (
	"fmt"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
)

// maskedKey is a certificate whose key has this mask.
func maskedKey(mask string) *tlsv3.TlsCertificate {
	return &tlsv3.TlsCertificate{PrivateKey: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: mask}}}
}

// Masks are replaced, and compared, down to a depth.
func TestDepthOfMasks(t *testing.T) {
	const mask = MaskHead + "0123456789]"
	for more, want := range []bool{true, false} {
		m := maskedKey(mask)
		if r := (&renewal{Maker: New()}); r.walk(m.ProtoReflect(), place{}, maxDepth+more) != want || (len(r.notes) > 0) != want {
			t.Errorf("%d below the bound: it is replaced: %v, %q", more, !want, r.notes)
		}
	}
	made := maskedKey(mask)
	if r := (&renewal{Maker: New()}); !r.walk(made.ProtoReflect(), place{}, 0) {
		t.Fatal("it is not replaced")
	}
	for more, want := range []bool{true, false} {
		old, now := maskedKey(mask), proto.CloneOf(made)
		if alike(old.ProtoReflect(), now.ProtoReflect(), now.ProtoReflect(), maxDepth+more) != want || proto.Equal(old, now) != want {
			t.Errorf("%d below the bound: what was made is alike: %v", more, !want)
		}
	}
}

// So many pairs are remembered by their masks. Beyond that a mask that comes again gets
// another pair.
func TestPairsThatAreRemembered(t *testing.T) {
	k := New()
	for i := range maxPairs - 1 {
		k.made[fmt.Sprint(i)] = nil
	}
	for n, same := range []bool{true, false} {
		a := maskedKey(fmt.Sprintf("%s0123456789-%d]", MaskHead, n))
		b := proto.CloneOf(a)
		for _, c := range []*tlsv3.TlsCertificate{a, b} {
			(&renewal{Maker: k}).walk(c.ProtoReflect(), place{}, 0)
		}
		if proto.Equal(a, b) != same || len(k.made) != maxPairs {
			t.Errorf("%d beyond the bound: the same pair: %v, %d are remembered", n, !same, len(k.made))
		}
	}
}

// So much is told.
func TestToldNotes(t *testing.T) {
	r := &renewal{Maker: New()}
	for i := range maxTold + 1 {
		r.note("%d", i)
	}
	if len(r.notes) != maxTold || len(r.told) != maxTold {
		t.Errorf("%d notes, %d are remembered", len(r.notes), len(r.told))
	}
}
