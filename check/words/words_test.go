package words_test

import (
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/words"
)

func TestWords(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for what, c := range map[string]struct{ got, want string }{
		"no names":        {words.List(nil), ""},
		"three names":     {words.List([]string{"a", "b", "c"}), `"a", "b", "c"`},
		"more names":      {words.List([]string{"a", "b", "c", "d", "e"}), `"a", "b", "c" and 2 more`},
		"microseconds":    {words.Round(69*time.Microsecond + 400), "69µs"},
		"milliseconds":    {words.Round(251*time.Millisecond + 400*time.Microsecond), "251ms"},
		"seconds":         {words.Round(1240 * time.Millisecond), "1.2s"},
		"a minute":        {words.Round(time.Minute), "1m"},
		"more":            {words.Round(90*time.Second + 400*time.Millisecond), "1m30s"},
		"an hour":         {words.Round(time.Hour), "1h"},
		"clip short":      {words.Clip(strings.Repeat("a", 200)), strings.Repeat("a", 200)},
		"clip":            {words.Clip(strings.Repeat("a", 201)), strings.Repeat("a", 200) + "…"},
		"clip in a rune":  {words.Clip("a" + long), "a" + strings.Repeat("é", 99) + "…"},
		"bounded":         {words.Bounded(strings.Repeat("a", 2048)), strings.Repeat("a", 2048)},
		"bounded longer":  {words.Bounded("a" + long), "a" + strings.Repeat("é", 1023) + "…"},
		"said":            {words.Said("no\n such  cluster"), `"no such cluster"`},
		"said in quotes":  {words.Said(`no "a"`), "`no \"a\"`"},
		"both quotes":     {words.Said("no \"a\" `b`"), "\"no \\\"a\\\" `b`\""},
		"a code":          {words.Code(14), "UNAVAILABLE"},
		"the last code":   {words.Code(16), "UNAUTHENTICATED"},
		"no code":         {words.Code(17), "status 17"},
		"less than none":  {words.Code(-1), "status -1"},
		"one":             {words.Counted(1, "name is", "names are"), "1 name is"},
		"two":             {words.Counted(2, "name is", "names are"), "2 names are"},
		"none":            {words.Counted(0, "name is", "names are"), "0 names are"},
		"masked":          {words.Masked("n1: no such node n1, but n11 and a.n1", "n1"), "#: no such node #, but n11 and a.n1"},
		"masked at ends":  {words.Masked("n1", "n1"), "#"},
		"masked by none":  {words.Masked("n1", ""), "n1"},
		"not in the text": {words.Masked("nothing", "n1"), "nothing"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, not %q", what, c.got, c.want)
		}
	}
}
