package edit

import (
	"slices"
	"testing"
)

// A field that came twice is there once when it was set, and not at all when it was
// set to nothing: of two a decoder would take the last.
func TestSetOfAFieldThatCameTwice(t *testing.T) {
	twice := slices.Concat(AppendString(nil, NonceOfRequest, "a"), AppendString(nil, VersionOfRequest, "v"), AppendString(nil, NonceOfRequest, "b"))
	for _, value := range []string{"new", ""} {
		out, ok := Set{NonceOfRequest: value}.Apply(twice)
		n := len(AppendString(nil, VersionOfRequest, "v")) + len(AppendString(nil, NonceOfRequest, value))
		if !ok || len(out) != n || string(Field(out, NonceOfRequest)) != value || string(Field(out, VersionOfRequest)) != "v" {
			t.Errorf("set to %q: %q", value, out)
		}
	}
}
