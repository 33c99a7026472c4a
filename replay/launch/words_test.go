package launch

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"envoy":                               {"envoy"},
		" envoy\t-l  error\n":                 {"envoy", "-l", "error"},
		`'a b' "c d"e f\ g`:                   {"a b", "c de", "f g"},
		`sh -c 'echo "$1"' ""`:                {"sh", "-c", `echo "$1"`, ""},
		`"a\"b\\c\d\$e" 'f\'`:                 {`a"b\c\d$e`, `f\`},
		`envoy --config-yaml '{a: [b, "c"]}'`: {"envoy", "--config-yaml", `{a: [b, "c"]}`},
		"":                                    nil,
		" ":                                   nil,
		"'a":                                  nil,
		`"a\"`:                                nil,
		`a\`:                                  nil,
	} {
		got, err := Words(text)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
}
