package pseudonym

import (
	"crypto/aes"
	"crypto/cipher"
	"net/netip"
)

// addresses maps addresses of IP one to one: two that have n bits in common still
// have, and no more. It is ipcrypt-pfx of draft-denis-ipcrypt, but that blocks
// with a meaning of their own are mapped to themselves: inside of those that are
// free every machine has the same addresses; inside of others, such as 10/8, the
// bits after the prefix are mapped.
type addresses struct {
	one, two cipher.Block
	blocks   []netip.Prefix
}

// pfxKeySize is the length of the key of ipcrypt-pfx.
const pfxKeySize = 32

// special are the blocks that stay where they are. A whole one stays as it is.
var special = []struct {
	block netip.Prefix
	whole bool
}{
	{netip.MustParsePrefix("0.0.0.0/32"), true},
	{netip.MustParsePrefix("255.255.255.255/32"), true},
	{netip.MustParsePrefix("127.0.0.0/8"), true},
	{netip.MustParsePrefix("169.254.0.0/16"), true},
	{netip.MustParsePrefix("224.0.0.0/4"), true},
	{netip.MustParsePrefix("10.0.0.0/8"), false},
	{netip.MustParsePrefix("172.16.0.0/12"), false},
	{netip.MustParsePrefix("192.168.0.0/16"), false},
	{netip.MustParsePrefix("100.64.0.0/10"), false},
	{netip.MustParsePrefix("240.0.0.0/4"), false},
	{netip.MustParsePrefix("::/128"), true},
	{netip.MustParsePrefix("::1/128"), true},
	{netip.MustParsePrefix("fe80::/10"), true},
	{netip.MustParsePrefix("ff00::/8"), true},
	{netip.MustParsePrefix("fc00::/7"), false},
}

// newAddresses takes a key of 32 bytes.
func newAddresses(key []byte, keep bool) *addresses {
	one, _ := aes.NewCipher(key[:16]) // never fails: the length is right
	two, _ := aes.NewCipher(key[16:pfxKeySize])
	a := &addresses{one: one, two: two}
	for _, s := range special {
		if keep {
			a.blocks = append(a.blocks, s.block)
		}
	}
	return a
}

// isWhole says whether an address is one that every machine has.
func isWhole(ip netip.Addr) bool {
	for _, s := range special {
		if s.whole && s.block.Contains(ip.WithZone("")) {
			return true
		}
	}
	return false
}

// cipher maps an address, or back.
func (a *addresses) cipher(ip netip.Addr, back bool) netip.Addr {
	if ip.Is4In6() {
		return netip.AddrFrom16(a.cipher(ip.Unmap(), back).As16())
	}
	if len(a.blocks) > 0 && isWhole(ip) {
		return ip
	}
	in, size := ip.AsSlice(), ip.BitLen()
	out := make([]byte, len(in))
	// The bits so far, with a 1 before them, as a number of 128 bits.
	var prefix [16]byte
	prefix[15] = 1
	if size == 32 {
		prefix[3], prefix[14], prefix[15] = 1, 0xff, 0xff
	}
	for i := range size {
		bit := in[i/8] >> (7 - i%8) & 1
		flip := byte(0)
		if !a.fixed(in, out, i, back) {
			var e1, e2 [16]byte
			a.one.Encrypt(e1[:], prefix[:])
			a.two.Encrypt(e2[:], prefix[:])
			flip = (e1[15] ^ e2[15]) & 1
		}
		out[i/8] |= (bit ^ flip) << (7 - i%8)
		if back {
			bit ^= flip // the prefix is that of the original
		}
		carry := bit
		for j := 15; j >= 0; j-- {
			carry, prefix[j] = prefix[j]>>7, prefix[j]<<1|carry
		}
	}
	mapped, _ := netip.AddrFromSlice(out)
	return mapped
}

// fixed says whether bit i of an address decides between a block that stays where
// it is and others. The bits before i are those of the original.
func (a *addresses) fixed(in, out []byte, i int, back bool) bool {
	before := in
	if back {
		before = out
	}
	for _, p := range a.blocks {
		if i < p.Bits() && p.Addr().BitLen() == len(in)*8 && sameBits(before, p.Addr().AsSlice(), i) {
			return true
		}
	}
	return false
}

func sameBits(a, b []byte, n int) bool {
	for i := range n / 8 {
		if a[i] != b[i] {
			return false
		}
	}
	return n%8 == 0 || (a[n/8]^b[n/8])>>(8-n%8) == 0
}
