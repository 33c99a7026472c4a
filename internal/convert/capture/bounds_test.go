package capture

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// What Wireshark exported says between whom it was sent, in tags of any order; without
// both ends, or cut within a tag, it is nothing.
func TestExported(t *testing.T) {
	tag := func(of uint16, value string) string {
		return string(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, of), uint16(len(value)))) + value
	}
	v4 := func(last byte) string { return string([]byte{10, 0, 0, last}) }
	v6 := func(last byte) string { return "\x20\x01\x0d\xb8" + strings.Repeat("\x00", 11) + string(rune(last)) }
	port := func(n byte) string { return string([]byte{0, 0, 1, n}) }
	end := tag(tagEnd, "")
	for name, tc := range map[string]struct {
		data, from, to string
	}{
		"IPv4":                  {tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)) + tag(tagPortFrom, port(1)) + tag(tagPortTo, port(2)) + end + "x", "10.0.0.1:257", "10.0.0.2:258"},
		"IPv6, another order":   {tag(tagPortTo, port(2)) + tag(tagIPv6To, v6(2)) + tag(12, "http2") + tag(tagIPv6From, v6(1)) + tag(tagPortFrom, port(1)) + end + "x", "[2001:db8::1]:257", "[2001:db8::2]:258"},
		"ports of another size": {tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)) + tag(tagPortFrom, "\x01\x02") + tag(tagPortTo, "") + end + "x", "10.0.0.1:0", "10.0.0.2:0"},
		"no sender":             {tag(tagIPv4To, v4(2)) + end + "x", "", ""},
		"no receiver":           {tag(tagIPv6From, v6(2)) + end + "x", "", ""},
		"no bytes":              {tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)) + end, "", ""},
		"no end":                {tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)), "", ""},
		"an address is cut":     {tag(tagIPv4To, v4(2)) + tag(tagIPv4From, v4(1))[:7], "", ""},
		"nothing":               {"", "", ""},
	} {
		s, ok := exported([]byte(tc.data))
		if ok != (tc.from != "") || ok && (s.from != netip.MustParseAddrPort(tc.from) || s.to != netip.MustParseAddrPort(tc.to) || string(s.data) != "x" || !s.inOrder) {
			t.Errorf("%s: %+v, %t", name, s, ok)
		}
	}
	// A tag that ends with the data is whole.
	whole := tag(tagIPv4From, v4(1)) + tag(tagIPv4To, v4(2)) + tag(tagEnd, "") + "bytes"
	if s, ok := exported([]byte(whole)); !ok || string(s.data) != "bytes" {
		t.Errorf("%+v, %t", s, ok)
	}
}

// Time does not run backwards, and packets of times that no capture has change nothing.
func TestTick(t *testing.T) {
	var r reader
	for _, tc := range []struct {
		year, want int
	}{{1969, 1}, {1970, 1970}, {2026, 2026}, {2001, 2026}, {2201, 2026}, {2200, 2200}} {
		if r.tick(time.Date(tc.year, 6, 1, 0, 0, 0, 0, time.UTC)); r.now.Year() != tc.want {
			t.Errorf("after a packet of %d it is %d", tc.year, r.now.Year())
		}
	}
}
