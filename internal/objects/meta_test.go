package objects

import (
	"strings"
	"testing"
)

// Metadata goes into header fields: what these cannot carry is refused before anything
// is sent.
func TestMeta(t *testing.T) {
	for key, is := range map[string]bool{
		"a": true, "z": true, "0": true, "9": true, "-": true, "az-09": true,
		"": false, "A": false, "`": false, "{": false, "/": false, ":": false, "_": false, "é": false, "a b": false,
	} {
		if err := checkMeta(map[string]string{key: "x"}); (err == nil) != is {
			t.Errorf("the key %q: %v", key, err)
		}
	}
	for value, is := range map[string]bool{
		"": true, "a b": true, "!~": true, " a": false, "a ": false, "a\x1fb": false, "a\x7fb": false, "a\r\nb": false, "é": false,
	} {
		if err := checkMeta(map[string]string{"k": value}); (err == nil) != is {
			t.Errorf("the value %q: %v", value, err)
		}
	}
	for more, is := range map[int]bool{0: true, 1: false} {
		if err := checkMeta(map[string]string{"k": strings.Repeat("x", maxMetaTaken-1+more)}); (err == nil) != is {
			t.Errorf("%d bytes more than a store takes: %v", more, err)
		}
	}
}
