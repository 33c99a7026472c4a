package lenient_test

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// What is no YAML is told with its line, in a sentence.
func TestYAMLFaults(t *testing.T) {
	before := strings.Repeat("a: {b: [1]}\n", 7)
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"brackets":                    {"{{{{: [", 1, "a value is missing, or a bracket is not closed"},
		"brackets below":              {"\n\n{{{{: [", 3, "a value is missing, or a bracket is not closed"},
		"a list that is not closed":   {before + "t: {a: [1\nb: 1\n", 8, "a list in brackets is not closed, or a comma is missing"},
		"an object that is not":       {before + "t: {a: 1\n", 8, "an object in braces is not closed, or a comma is missing"},
		"a list in the first line":    {"t: [1\nb: 1\n", 1, "a list in brackets is not closed, or a comma is missing"},
		"a line too far to the left":  {before + "t:\n    a: 1\n  b: 1\nc: 1\n", 10, "a key is missing, or this does not stand below the keys that it belongs to"},
		"an element among keys":       {before + "- x\n" + before, 8, "a key is missing, or this does not stand below the keys that it belongs to"},
		"a key among elements":        {"l:\n- a\n- b\n b: 1\nc: 1\n", 4, "no colon may stand here: a text with a colon in it needs quotes"},
		"no colon":                    {before + "b\nc: 1\n", 8, "a colon is missing"},
		"a colon in the first line":   {"a: b: c\n", 1, "no colon may stand here: a text with a colon in it needs quotes"},
		"a quote that is not closed":  {before + "t: \"x\n" + "b: 1\n", 8, "a quote is not closed"},
		"a character":                 {before + "t: @x\n", 8, "no value begins with this character: such a text needs quotes"},
		"an alias":                    {before + "t: *secret\nb: 1\n", 8, "an alias with * stands for nothing: such a text needs quotes"},
		"a control character":         {before + "t: \x01\nb: 1\n", 8, "control characters are not allowed"},
		"a text that is not UTF-8":    {before + "t: \xff\nb: 1\n", 8, "invalid leading UTF-8 octet"},
		"an end that nothing follows": {"a: 1\n...\nb: 1\n", 0, ""},
	} {
		_, _, err := lenient.YAMLTree([]byte(c.text), values)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || err.Line != c.line || err.Message != c.want {
			t.Errorf("%s: %v, want line %d: %s", name, err, c.line, c.want)
		}
	}
}
