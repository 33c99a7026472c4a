package inspect_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
)

// Which bytes are the same resource, and which are another one.
func TestWhatCounts(t *testing.T) {
	str, sub, num := handmade.Str, handmade.Sub, handmade.Num
	const typed = 36 // typed_extension_protocol_options
	entry := func(key string, url, value string) []byte {
		return sub(typed, str(1, key), sub(2, str(1, url), str(2, value)))
	}
	name := str(1, "c")
	for what, c := range map[string]struct {
		a, b []byte
		same bool
	}{
		"an empty text":                 {name, append(str(1, ""), name...), true},
		"a zero":                        {name, append(num(6, 0), name...), true},
		"another number":                {append(num(6, 1), name...), append(num(6, 2), name...), false},
		"an unknown Any, another value": {append(entry("k", "t/u", "x"), name...), append(entry("k", "t/u", "y"), name...), false},
		"an unknown Any, no value":      {append(entry("k", "t/u", "x"), name...), append(sub(typed, str(1, "k"), sub(2, str(1, "t/u"))), name...), false},
		"an unknown Any, an empty one":  {append(entry("k", "t/u", ""), name...), append(sub(typed, str(1, "k"), sub(2, str(1, "t/u"))), name...), true},
		"entries in another order":      {append(entry("k", "t/u", "x"), entry("l", "t/u", "y")...), append(entry("l", "t/u", "y"), entry("k", "t/u", "x")...), true},
		"an entry twice":                {append(entry("k", "t/u", "x"), entry("k", "t/u", "y")...), entry("k", "t/u", "y"), true},
		"three entries":                 {slices.Concat(entry("m", "", ""), entry("k", "t/u", "x"), entry("l", "", ""), entry("k", "t/u", "y")), slices.Concat(entry("k", "t/u", "y"), entry("l", "", ""), entry("m", "", "")), true},
		"the first of them":             {append(entry("k", "t/u", "x"), entry("k", "t/u", "y")...), entry("k", "t/u", "x"), false},
		"an unknown field":              {append(num(1000, 1), name...), append(num(1000, 2), name...), false},
		"the last of a oneof":           {append(num(2, 3), sub(38, str(1, "x"))...), sub(38, str(1, "x")), true},
		"the first of a oneof":          {append(num(2, 3), sub(38, str(1, "x"))...), num(2, 3), false},
	} {
		in := inspect.New(nil)
		a, b := *in.Inspect(handmade.ClusterURL, c.a, false), *in.Inspect(handmade.ClusterURL, c.b, false)
		if a.Undecodable != "" || b.Undecodable != "" || (a.Hash == b.Hash) != c.same {
			t.Errorf("%s: they are the same: %v; %s%s", what, a.Hash == b.Hash, a.Undecodable, b.Undecodable)
		}
	}
}

// What is said of fields that are not known, and of values that nobody should use any more, each once for a
// field of one name.
func TestWhatIsNoted(t *testing.T) {
	str, sub, num := handmade.Str, handmade.Sub, handmade.Num
	for what, c := range map[string]struct {
		b                   []byte
		unknown, deprecated []string
	}{
		"none":               {str(1, "c"), nil, nil},
		"in two places":      {slices.Concat(num(1000, 1), sub(3, num(1000, 1)), sub(4, num(1000, 1)), sub(3, num(1000, 2))), []string{"eds_cluster_config: unknown field 1000", "connect_timeout: unknown field 1000", "unknown field 1000"}, nil},
		"an unknown type":    {sub(24, str(1, "n"), handmade.AnyOf(3, "t/u.V")), []string{`transport_socket.typed_config: unknown type "u.V"`}, nil},
		"a deprecated value": {sub(3, sub(1, sub(3, []byte{}), num(6, 1))), nil, []string{"eds_cluster_config.eds_config.resource_api_version: V2"}},
		"one that is not":    {sub(3, sub(1, sub(3, []byte{}), num(6, 2))), nil, nil},
	} {
		f := inspect.New(nil).Inspect(handmade.ClusterURL, c.b, false)
		if fmt.Sprint(f.Unknown) != fmt.Sprint(c.unknown) || fmt.Sprint(f.Deprecated) != fmt.Sprint(c.deprecated) {
			t.Errorf("%s: %q, %q, %s", what, f.Unknown, f.Deprecated, f.Undecodable)
		}
	}
}

// A cluster that gets its endpoints by EDS says so by its type alone, whatever stands around that.
func TestWhoseEndpoints(t *testing.T) {
	str, sub, num := handmade.Str, handmade.Sub, handmade.Num
	eds := num(2, 3)
	for what, c := range map[string]struct {
		b    []byte
		want []string
	}{
		"by its name":        {append(str(1, "c"), eds...), []string{"EDS c"}},
		"and a policy":       {slices.Concat(str(1, "c"), eds, num(6, 1), num(5, 2)), []string{"EDS c"}},
		"by another name":    {slices.Concat(str(1, "c"), eds, sub(3, str(2, "s"))), []string{"EDS s"}},
		"of a custom type":   {slices.Concat(str(1, "c"), eds, sub(38, str(1, "x"))), nil},
		"and of EDS again":   {slices.Concat(str(1, "c"), sub(38, str(1, "x")), eds), []string{"EDS c"}},
		"of no type":         {str(1, "c"), nil},
		"another type first": {slices.Concat(str(1, "c"), num(2, 2), eds), []string{"EDS c"}},
	} {
		f := inspect.New(nil).Inspect(handmade.ClusterURL, c.b, false)
		var got []string
		for _, r := range f.Refs {
			if r.Type == "EDS" {
				got = append(got, "EDS "+r.Name)
			}
		}
		if !slices.Equal(got, c.want) || f.EDS != (len(c.want) > 0) {
			t.Errorf("%s: %q, %v", what, got, f.EDS)
		}
	}
}
