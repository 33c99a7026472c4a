package script

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// fixtures are all conversations that the rules are tested with, and those with
// the corners of the notation.
func fixtures(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"../testdata/catalogue", "../testdata/clients", "testdata"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.xds"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Fatalf("no scripts in %s", dir)
		}
		all = append(all, files...)
	}
	return all
}

func openScript(t testing.TB, file string) (*Script, []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return s, strings.Split(string(text), "\n")
}

// A message says what its line says, in the words of an independent, simpler
// reading of the line.
func TestMessagesSayWhatLinesSay(t *testing.T) {
	all, compared := 0, 0
	for _, file := range fixtures(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, lines := openScript(t, file)
			if len(s.events) == 0 {
				t.Fatal("no entries")
			}
			methods := map[session.StreamID]xds.Method{}
			messages := map[int]int{}
			for e := range s.Entries() {
				if e.Kind == session.KindOpen {
					methods[e.Stream] = xds.LookupMethod(e.Method)
				}
				if e.Kind != session.KindMessage {
					continue
				}
				no := s.Line(e.Seq)
				messages[no]++
				all++
				if compare(t, lines[no-1], methods[e.Stream], &e) {
					compared++
				}
			}
			for i, text := range lines {
				if regexp.MustCompile(`^(t=\S+ |@\S+ )*([CDP]>|[Sd]<) `).MatchString(text) && messages[i+1] == 0 && !strings.Contains(text, `body=""`) {
					t.Errorf("line %d gives no message: %s", i+1, text)
				}
			}
		})
	}
	if compared < all/2 {
		t.Errorf("only %d of %d messages were compared", compared, all)
	}
}

// compare says whether the line was not beyond this reader.
func compare(t *testing.T, text string, m xds.Method, e *session.Entry) bool {
	t.Helper()
	if strings.Contains(text, `"`) && !strings.Contains(text, `err="`) || strings.Contains(text, "loc:") {
		return false
	}
	kind := regexp.MustCompile(`(?:^| )([CDdPpL]>|[Sdpl]<|F:|--)`).FindStringSubmatch(text)[1]
	if kind == "p<" && e.Side == session.Client || kind == "L>" || kind == "l<" || kind == "--" {
		return false
	}
	got := decode.Peek(m, e.Side, "", e.Message.Data.Bytes())
	if len(got.Problems) > 0 {
		t.Errorf("%s: %v", text, got.Problems)
	}
	word := func(key string) string {
		if w := regexp.MustCompile(` ` + key + `=([^ ]*)`).FindStringSubmatch(text); w != nil {
			return w[1]
		}
		return ""
	}
	list := func(key string) (out []string) {
		for _, item := range splitList(strings.Trim(word(key), "[]")) {
			item = strings.TrimPrefix(strings.TrimPrefix(item, "w:"), "hb:")
			item = strings.TrimPrefix(item, "LDS:")
			if key == "res" {
				item = regexp.MustCompile(`[@#{~(].*`).ReplaceAllString(item, "")
			}
			out = append(out, item)
		}
		return out
	}
	equal := func(what string, want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s (-said +message):\n%s", text, what, d)
		}
	}
	equal("nonce", word("N"), got.Nonce)
	if kind == "d<" {
		equal("version", word("sys"), got.Version)
	} else if kind != "D>" {
		equal("version", word("V"), got.Version)
	}
	equal("names", list("R"), got.Names)
	equal("sub", list("sub"), got.Subscribe)
	equal("unsub", list("unsub"), got.Unsubscribe)
	equal("rm", list("rm"), got.Removed)
	if xds.ShortType(got.TypeURL) != "LEDS" || kind == "d<" {
		equal("res", list("res"), got.ResourceNames())
	}
	if w := word("type"); len(w) <= 4 {
		equal("type", w, xds.ShortType(got.TypeURL))
	}
	if id, _, _ := strings.Cut(word("node"), "/"); (got.Node != nil) != (id != "") || got.Node != nil && got.Node.ID != id {
		t.Errorf("%s: node %+v", text, got.Node)
	}
	if (got.Error != nil) != strings.Contains(text, "err=") {
		t.Errorf("%s: error %+v", text, got.Error)
	}
	for i, r := range got.Resources {
		if v := regexp.MustCompile(`@([^#{~(,\]]*)`).FindStringSubmatch(splitList(strings.Trim(word("res"), "[]"))[i]); v != nil && v[1] != r.Version {
			t.Errorf("%s: resource %d has version %q", text, i, r.Version)
		}
	}
	return true
}

// splitList divides at commas outside of brackets.
func splitList(s string) (out []string) {
	depth, from := 0, 0
	for i, c := range s {
		switch c {
		case '{', '(':
			depth++
		case '}', ')':
			depth--
		case ',':
			if depth == 0 {
				out, from = append(out, s[from:i]), i+1
			}
		}
	}
	if s != "" {
		out = append(out, s[from:])
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
