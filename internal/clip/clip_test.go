package clip

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"", 0, ""},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abcdef…"},
		{"abcd", 0, "…"},
		{"ab\u00fcdefg", 3, "ab…"},
		{"a\U0001F600defg", 4, "a…"},
		{"\U0001F600\U0001F600", 7, "\U0001F600…"},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80", 8, "\x80\x80\x80\x80\x80…"},
	} {
		if got := Text(c.in, c.most); got != c.want {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.most, got, c.want)
		}
		if got := Text([]byte(c.in), c.most); got != c.want {
			t.Errorf("Text of the bytes of %q, %d = %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\U0001F600b", 4)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(most, 0)
		got := Text(s, most)
		if len(got) > most+len("…") {
			t.Errorf("%q has %d bytes, and %d at most", got, len(got), most)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("%q became %q", s, got)
		}
		if head := strings.TrimSuffix(got, "…"); got != s && !strings.HasPrefix(s, head) {
			t.Errorf("%q does not begin as %q", got, s)
		}
	})
}
