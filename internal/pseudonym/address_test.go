package pseudonym

import (
	"encoding/hex"
	"net/netip"
	"testing"
)

// The vectors are those of draft-denis-ipcrypt, section "ipcrypt-pfx Test Vectors".
func TestAddressVectors(t *testing.T) {
	key, err := hex.DecodeString("0123456789abcdeffedcba98765432101032547698badcfeefcdab8967452301")
	if err != nil {
		t.Fatal(err)
	}
	a := newAddresses(key, false)
	for in, want := range map[string]string{
		"0.0.0.0": "151.82.155.134", "255.255.255.255": "94.185.169.89", "192.0.2.1": "100.115.72.131",
		"2001:db8::1": "c180:5dd4:2587:3524:30ab:fa65:6ab6:f88",
	} {
		if got := a.cipher(netip.MustParseAddr(in), false); got.String() != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
		if got := a.cipher(netip.MustParseAddr(want), true); got.String() != in {
			t.Errorf("%s back became %s, want %s", want, got, in)
		}
	}
}

func FuzzAddress(f *testing.F) {
	key := make([]byte, pfxKeySize)
	copy(key, "not a secret, but one for a test")
	a := newAddresses(key, true)
	f.Add([]byte{10, 0, 0, 7}, []byte{10, 0, 1, 7})
	f.Add([]byte{127, 0, 0, 1}, []byte{126, 1, 2, 3})
	f.Add([]byte("\xfe\x80..............")[:16], []byte("\xfe\xc0..............")[:16])
	f.Fuzz(func(t *testing.T, one, two []byte) {
		x, ok := netip.AddrFromSlice(one)
		y, ok2 := netip.AddrFromSlice(two)
		if !ok || !ok2 || x.BitLen() != y.BitLen() {
			return
		}
		mx, my := a.cipher(x, false), a.cipher(y, false)
		if a.cipher(mx, true) != x || a.cipher(my, true) != y {
			t.Fatalf("%s and %s do not come back", x, y)
		}
		for _, s := range special {
			if s.block.Contains(x) != s.block.Contains(mx) || s.whole && s.block.Contains(x) && x != mx {
				t.Fatalf("%s became %s, of another block than before", x, mx)
			}
		}
		if !x.Is4In6() && !y.Is4In6() && common(x, y) != common(mx, my) {
			t.Fatalf("%s and %s became %s and %s, which have other prefixes in common", x, y, mx, my)
		}
	})
}

func common(x, y netip.Addr) int {
	a, b := x.AsSlice(), y.AsSlice()
	n := 0
	for n < len(a)*8 && sameBits(a, b, n+1) {
		n++
	}
	return n
}
