package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/golden/verdict"
)

// updating has the files written anew until the test is over.
func updating(t *testing.T) {
	t.Cleanup(func() { *update = false })
	*update = true
}

// A text that is not the one of the file is refused, at the first line that differs.
func TestIs(t *testing.T) {
	if Updating() {
		t.Skip("the files of this test are its own")
	}
	file := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(file, []byte("a\nb\nc\nd\ne\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, line, is, should string }{
		{"a\nb\nc\nd\ne\n", "", "", ""},
		{"x\nb\nc\nd\ne\n", "1", "x|b|c", "a|b|c"},
		{"a\nb\nx\nd\ne\n", "3", "x|d|e", "c|d|e"},
		{"a\nb\nc\nd\nx\n", "5", "x|", "e|"},
		{"a\nb\nc\nd\ne", "6", "", ""},
		{"a\nb\n", "3", "", "c|d|e"},
		{"a\nb", "3", "", "c|d|e"},
		{"a\nb\nc\nd\ne\nf\ng\n", "6", "f|g|", ""},
		{"a\nb\nc\nd\ne\n\nf", "7", "f", ""},
		{"", "1", "", "a|b|c"},
	} {
		want := ""
		if c.line != "" {
			text := func(s string) string { return strings.ReplaceAll(s, "|", "\n      ") }
			want = "error: " + file + " differs in line " + c.line + "; run with -update and look at the difference.\ngot:  " + text(c.is) + "\nwant: " + text(c.should) + "\n"
		}
		if got := verdict.Of(t, func(t testing.TB) { Is(t, file, c.got) }); got != want {
			t.Errorf("%q: %q\nwant %q", c.got, got, want)
		}
	}
	if got := verdict.Of(t, func(t testing.TB) { Is(t, file+"s", "") }); !strings.HasPrefix(got, "fatal: ") || !strings.HasSuffix(got, "; -update writes it\n") {
		t.Errorf("a file that is not there: %q", got)
	}
}

// With -update a file and its directory become what the test has.
func TestUpdate(t *testing.T) {
	updating(t)
	file := filepath.Join(t.TempDir(), "new", "kept")
	for _, text := range []string{"a\nb\n", "c"} {
		if got := verdict.Of(t, func(t testing.TB) { Is(t, file, text) }); got != "" {
			t.Error(got)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != text {
			t.Errorf("%q, %v", b, err)
		}
	}
	for name, file := range map[string]string{"a directory": filepath.Dir(file), "a file in a file": filepath.Join(file, "x")} {
		if got := verdict.Of(t, func(t testing.TB) { Is(t, file, "") }); !strings.HasPrefix(got, "fatal: ") || strings.Contains(got, "-update") {
			t.Errorf("what cannot be written, %s: %q", name, got)
		}
	}
}

type named struct{ name string }

func (n *named) String() string { return "<" + n.name + ">" }

func TestCompact(t *testing.T) {
	since := time.Unix(1000, 0)
	type inner struct{ Text string }
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, "nil"},
		{1, "1"},
		{-1.5, "-1.5"},
		{`a"b`, `"a\"b"`},
		{[]byte("a\x00"), `"a\x00"`},
		{since.Add(90 * time.Second), "+1m30s"},
		{since.Add(-time.Second), "+-1s"},
		{time.Minute, "1m0s"},
		{&named{"n"}, "<n>"},
		{(*named)(nil), "nil"},
		{(*int)(nil), "nil"},
		{new(int), "0"},
		{[]int(nil), "[]"},
		{[]string{"a"}, `["a"]`},
		{[2]int{1, 2}, "[1 2]"},
		{[]any{1, nil, "a", &named{"n"}}, `[1 nil "a" <n>]`},
		{map[string]int{"b": 2, "a": 1, "c": 3}, `map["a":1 "b":2 "c":3]`},
		{struct{}{}, "{}"},
		{struct {
			A, B   int
			Yes    bool
			No     bool
			hidden int
			In     *inner
			At     time.Time
			Never  time.Time
			Inside inner
			Empty  inner
		}{A: 1, Yes: true, hidden: 1, In: &inner{"x"}, At: since, Inside: inner{"y"}}, `{A:1 Yes In:{Text:"x"} At:+0s Inside:{Text:"y"}}`},
		{struct{ On, Off bool }{Off: true}, "{Off}"},
	} {
		if got := Compact(c.v, since); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
