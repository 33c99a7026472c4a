package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/mcp/mcptest"
)

// pages are all pages of a document, each of which fits, put together.
func pages(t *testing.T, doc []byte, room int) (whole any, n int, cut bool) {
	t.Helper()
	at := position{}
	for n = 1; ; n++ {
		p, err := makePage(doc, at, room)
		if err != nil {
			t.Fatal(err)
		}
		if w := weigh(p.text); w > room {
			t.Fatalf("page %d weighs %d of %d: %s", n, w, room, p.text)
		}
		page := mcptest.Page{BeginsAt: pathOf(p.levels), RestOf: at.in > 0, AnswerAt: pathOf(p.levels[:p.under])}
		if err := json.Unmarshal(p.text, &page.Answer); err != nil {
			t.Fatalf("page %d: %v: %s", n, err, p.text)
		}
		cut = cut || p.cut > 0
		if !cut {
			whole = mcptest.Merge(whole, &page)
		}
		if !p.more {
			return whole, n, cut
		}
		if p.next.at < at.at || p.next.at == at.at && p.next.in <= at.in {
			t.Fatalf("page %d goes from %v to %v", n, at, p.next)
		}
		at = p.next
	}
}

func compact(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const smallRoom = 8 << 10

func TestPages(t *testing.T) {
	list := func(n int, one any) (out []any) {
		for range n {
			out = append(out, one)
		}
		return out
	}
	deep := any("x")
	for i := range 300 {
		deep = map[string]any{fmt.Sprintf("level %d with a long name", i): deep}
	}
	for name, v := range map[string]any{
		"small":         map[string]any{"a": 1.0, "b": []any{}, "c": map[string]any{}},
		"alone":         "x",
		"alone, long":   strings.Repeat("x€", 9999),
		"long text":     map[string]any{"a": "b", "text": strings.Repeat("€\n\"\\😀<", 9000), "z": true},
		"many":          map[string]any{"schema": "x", "list": list(5000, map[string]any{"name": "cluster", "n": 1.0})},
		"nested":        map[string]any{"a": list(30, map[string]any{"b": list(200, "text"), "c": nil})},
		"deep":          map[string]any{"a": deep, "z": "end"},
		"deep and long": []any{deep, strings.Repeat("x", 99999), deep, list(3000, deep)[:2]},
		"names":         map[string]any{"a.b": list(2000, "x"), `q"]`: map[string]any{"": list(2000, 7.5)}},
		"empty":         map[string]any{"a": list(9000, []any{}), "b": list(9000, map[string]any{})},
	} {
		doc := compact(t, v)
		whole, n, cut := pages(t, doc, smallRoom)
		if cut || !reflect.DeepEqual(whole, v) {
			t.Errorf("%s: %d pages are not the whole", name, n)
		}
		// A page is mostly full.
		if most := 3*weigh(doc)/smallRoom + 2; n > most {
			t.Errorf("%s: %d pages, of %d bytes", name, n, len(doc))
		}
	}
}

// What is too long for any page and cannot go on is cut, and that is said.
func TestPagesCut(t *testing.T) {
	for _, doc := range []string{
		`{"` + strings.Repeat("k", 50000) + `":{"a":[1,2,3]},"b":"` + strings.Repeat("v", 50000) + `"}`,
		`[` + strings.Repeat("1", 50000) + `,2]`,
		strings.Repeat(`{"`+strings.Repeat("<", 3000)+`":`, 50) + "1" + strings.Repeat("}", 50),
	} {
		if _, _, cut := pages(t, []byte(doc), smallRoom); !cut {
			t.Errorf("nothing was cut of %.20s", doc)
		}
	}
}

// A page begins only where something does.
func TestPageBegins(t *testing.T) {
	doc := []byte(`{"a":"x\u20acy","b":[1,true]}`)
	for _, at := range []position{{1, 0}, {4, 0}, {6, 0}, {-1, 0}, {len(doc), 0}, {len(doc) - 1, 0}, {5, 3}, {5, 8}, {5, 9}, {5, 99}, {20, 1}, {0, 1}} {
		if p, err := makePage(doc, at, smallRoom); err == nil {
			t.Errorf("%v gives %s", at, p.text)
		}
	}
	for at, want := range map[position]string{
		{}: string(doc), {5, 0}: `{"a":"x\u20acy","b":[1,true]}`, {5, 7}: `{"a":"y","b":[1,true]}`, {20, 0}: `{"b":[1,true]}`, {23, 0}: `{"b":[true]}`,
	} {
		p, err := makePage(doc, at, smallRoom)
		if err != nil || string(p.text) != want {
			t.Errorf("%v gives %s, %v", at, p.text, err)
		}
	}
}

// Behind the containers that a page begins in, it goes on.
func TestPageGoesOn(t *testing.T) {
	for _, c := range []struct {
		doc, from, want string
	}{
		{`{"a":[1,2],"b":3}`, "2]", `{"a":[2],"b":3}`},
		{`{"a":[[1,2],{"c":4}],"b":3}`, "2]", `{"a":[[2],{"c":4}],"b":3}`},
		{`[[[1,2]],[],{"c":{}}]`, "2]", `[[[2]],[],{"c":{}}]`},
		{`"xyz"`, `"`, `"xyz"`},
	} {
		p, err := makePage([]byte(c.doc), position{at: strings.Index(c.doc, c.from)}, smallRoom)
		if err != nil || string(p.text) != c.want || p.more {
			t.Errorf("%s from %s gives %s, more: %v, %v", c.doc, c.from, p.text, p.more, err)
		}
	}
	if p, err := makePage([]byte(`"xyz"`), position{in: 1}, smallRoom); err != nil || string(p.text) != `"yz"` {
		t.Errorf("a text alone goes on with %s, %v", p.text, err)
	}
}

// The containers around what comes first take no more than a quarter of the page, with
// brackets, a comma, a colon and the name.
func TestContainersAround(t *testing.T) {
	name := level{key: []byte(`"abc"`)} // of 12, and 4 and 4
	for _, c := range []struct {
		levels []level
		room   int
		under  int
	}{
		{[]level{name}, 80, 0},
		{[]level{name}, 79, 1},
		{[]level{name, name}, 160, 0},
		{[]level{name, name}, 159, 1},
		{[]level{name, name}, 79, 2},
		{[]level{{array: true}}, 32, 0},
		{[]level{{array: true}}, 31, 1},
	} {
		w := pageWriter{part: &part{}, room: c.room}
		if w.enclose(c.levels); w.under != c.under {
			t.Errorf("of %d levels %d are left out in %d, not %d", len(c.levels), w.under, c.room, c.under)
		}
	}
}

// An answer weighs what it takes when it is sent.
func TestWeight(t *testing.T) {
	text := compact(t, map[string]any{"a": "€\n\"\\😀<>&\u2028 \x7f", "b": []any{1, nil, true}})
	sent := compact(t, map[string]any{"structuredContent": json.RawMessage(text), "text": string(text)})
	around := compact(t, map[string]any{"structuredContent": json.RawMessage("0"), "text": "0"})
	if got := len(sent) - len(around) + 2; got > weigh(text) || got < weigh(text)-8 {
		t.Errorf("it takes %d, and weighs %d", got, weigh(text))
	}
}

func TestSelect(t *testing.T) {
	doc := []byte(`{ "a": [ {"b":"x","c.d":{"é\"":7}}, 2 ], "": {"z":null} }`)
	for path, want := range map[string]string{
		"a": `[{"b":"x","c.d":{"é\"":7}},2]`, "a[1]": "2", "a[0].b": `"x"`, `a[0]["c.d"]["é\""]`: "7", `[""].z`: "null", `["a"][0]["b"]`: `"x"`, "": string(doc),
	} {
		got, err := Select(doc, path)
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(want)) != nil || err != nil || string(got) != compact.String() {
			t.Errorf("%s is %s, %v", path, got, err)
		}
	}
	for path, want := range map[string]string{
		"b": `the entry has no member "b"`, "a.b": `a is a list, and "b" is a name`, "a[2]": "a has no number 2: it has 2, counted from 0", "a[0][0]": "a[0] is no list",
		"a[": `path "a[": "[" is no number in brackets`, "a[-1]": `path "a[-1]": "[-1]" is no number in brackets`, "a[9999999999999]": `path "a[9999999999999]": "[9999999999999]" is no number in brackets`,
		"a..b": `path "a..b": a name is missing before ".b"`, `a["x`: `path "a[\"x": the bracket before "x" is not closed`, "a[0].b.c": `a[0].b has no member "c"`,
	} {
		if got, err := Select(doc, path); err == nil || err.Error() != want {
			t.Errorf("%s is %s, %v", path, got, err)
		}
	}
}

// Whatever a document is, its pages fit and are the whole; and whatever a path is,
// it is refused or found.
func FuzzPages(f *testing.F) {
	f.Add([]byte(`{"a":["x",1e5,{"b":"\u2028"}]}`), uint16(0), "a[2].b")
	f.Add([]byte(`"`+strings.Repeat(`\ud83d\ude00`, 2000)+`"`), uint16(5), `["`)
	f.Add([]byte(`{"`+strings.Repeat(`é`, 900)+`":[[[[[`+strings.Repeat("8", 9000)+`]]]]],"":{}}`), uint16(300), "[0]")
	f.Fuzz(func(t *testing.T, text []byte, times uint16, path string) {
		var v any
		if json.Unmarshal(text, &v) != nil || v == nil {
			return
		}
		if n := int(times % 512); n > 0 { // more than a page
			r := rand.New(rand.NewPCG(uint64(n), 1))
			list := []any{}
			for range n {
				list = append(list, v, strings.Repeat("text ", r.IntN(200)))
			}
			v = map[string]any{"list": list}
		}
		doc := compact(t, v)
		if len(doc) > 1<<18 { // an input that takes 10 s ends the search
			return
		}
		whole, n, cut := pages(t, doc, smallRoom)
		if !cut && !reflect.DeepEqual(whole, v) {
			t.Errorf("%d pages are not the whole of %s", n, doc)
		}
		if got, err := Select(doc, path); err == nil && !json.Valid(got) {
			t.Errorf("%s is %s", path, got)
		}
	})
}

// What of a string stays together: characters, escapes, and pairs that are one
// character.
func TestUnit(t *testing.T) {
	for s, want := range map[string]int{
		"ab": 1, "é": 2, "😀x": 4, "\xffx": 1, `\nx`: 2, `\`: 1, `\u00e9x`: 6, `\u00e`: 2, `\d83d\ude00`: 2,
		`\ud83d\ude00x`: 12, `\uD83D\uDE00`: 12, `\u00e9`: 6, `\ud83d\ude0`: 6, `\ud83dx\ude00`: 6, `\uda00\udc00`: 12, `\udb00\udc00`: 12, `\ud800\udc00`: 12, `\ud900\udc00`: 12,
		`\udc00\ud800`: 6, `\u083d\ude00`: 6, `\ud73d\ude00`: 6, `\uDB3D\uDE00`: 12, `\uDA3D\uDE00`: 12,
	} {
		if got := unit([]byte(s)); got != want {
			t.Errorf("%s: %d, not %d", s, got, want)
		}
	}
}

// A value is measured to its end, and up to a bound and no further.
func TestMeasure(t *testing.T) {
	for doc, end := range map[string]int{
		`"a\"b",1`: 6, `[1,[2,{"a":"]"}],3],4`: 19, `{"a":{}},`: 8, `12,3`: 2, `true}`: 4, `null]`: 4, `7`: 1, `"a"`: 3, `[]`: 2, `[{}]]`: 4, `"x]`: 3,
	} {
		got, weighs, fits := measure([]byte(doc), 0, 1000)
		if got != end || weighs != weigh([]byte(doc[:end])) || !fits || valueEnd([]byte(doc), 0) != end {
			t.Errorf("%s ends at %d, not %d, and weighs %d", doc, got, end, weighs)
		}
		if _, _, fits := measure([]byte(doc), 0, weighs); !fits {
			t.Errorf("%s does not fit where there is just room for it", doc)
		}
		if _, _, fits := measure([]byte(doc), 0, weighs-1); fits {
			t.Errorf("%s fits where there is too little room", doc)
		}
	}
}

// A name is as long as it may be, or cut.
func TestShort(t *testing.T) {
	quoted := func(n int, of string) []byte { return []byte(`"` + strings.Repeat(of, n) + `"`) }
	for _, c := range []struct {
		key  []byte
		left int // characters that stay; -1: all
	}{
		{quoted(1, "a"), -1}, {quoted(maxToken/12-2, "<"), -1}, {quoted(1021, "a"), -1}, {quoted(1022, "a"), 1021}, {quoted(170, "<"), -1}, {quoted(171, "<"), 170}, {quoted(600, "é"), 510},
	} {
		got, want := string(short(c.key)), string(c.key)
		if c.left >= 0 {
			n := len(c.key[1:len(c.key)-1]) / len([]rune(string(c.key[1:len(c.key)-1])))
			want = string(c.key[:1+c.left*n]) + "…\""
		}
		if got != want {
			t.Errorf("%.8s of %d bytes has %d, not %d", c.key, len(c.key), len(got), len(want))
		}
	}
}

// What helps where a path leads nowhere.
func TestSelectHints(t *testing.T) {
	var many strings.Builder
	for i := range 25 {
		fmt.Fprintf(&many, `,"field-%02d":1`, i)
	}
	doc := []byte(`{"message":{},"list":[1,2],"wide":{"x":1` + many.String() + `},"text":"s"}`)
	for path, want := range map[string]string{
		"mesage":            "did you mean message?",
		"message.a":         "it has no members",
		"text.a":            "it has no members",
		"list.a":            "list[0] is its first of 2",
		"wide.qqqqqqqqqqqq": "it has x, field-00, field-01, field-02, field-03, field-04, field-05, field-06, field-07, field-08, field-09, field-10, field-11, field-12, field-13, field-14, field-15, field-16, field-17, field-18 and 6 more",
		"list[x]":           "a path is such as message.resources[3].name",
	} {
		_, err := Select(doc, path)
		f, is := errors.AsType[*console.Failure](err)
		if !is || len(f.Hints) != 1 || f.Hints[0] != want {
			t.Errorf("%s: %v, %+v", path, err, f)
		}
	}
	if _, err := Select([]byte("{"), "a"); err == nil {
		t.Error("what is no JSON has a place")
	}
}

// What is too large for any page begins on this one if there is room for more than the
// least piece.
func TestWorth(t *testing.T) {
	doc := compact(t, strings.Repeat("x", smallRoom))
	l := &level{}
	for left, worth := range map[int]bool{leastPiece: false, leastPiece + 1: true} {
		w := pageWriter{part: &part{}, doc: doc, room: smallRoom, used: smallRoom - naming(l) - left}
		if w.worth(0, l) != worth {
			t.Errorf("with room for %d it is worth it: %v", left, !worth)
		}
	}
}
