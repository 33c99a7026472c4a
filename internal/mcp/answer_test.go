package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/mcp/mcptest"
)

// program is a server of which the tools print what a test says.
type program struct {
	*Server
	identity string
	printed  int // how often
	print    Print
}

func serverOf(print Print) *program {
	p := &program{identity: "made at nine", print: print, Server: &Server{Prints: map[string]Print{}}}
	p.Recording = func(_ context.Context, notes io.Writer) (string, []byte, error) {
		fmt.Fprintln(notes, "of the running proxy")
		return "session.xdsp", []byte(p.identity), nil
	}
	for _, tool := range Tools() {
		p.Prints[tool.Name] = func(ctx context.Context, recording string, a *Args, out, notes io.Writer) error {
			p.printed++
			return p.print(ctx, recording, a, out, notes)
		}
	}
	return p
}

func toolOf(t *testing.T, name string) *Tool {
	t.Helper()
	for _, tool := range Tools() {
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// ask is one page of an answer, which is no longer than it may be as it is sent.
func (p *program) ask(t *testing.T, tool, args string) (*mcptest.Page, error) {
	t.Helper()
	text, err := p.answer(t.Context(), toolOf(t, tool), json.RawMessage(args))
	if err != nil {
		return nil, err
	}
	sent := compact(t, map[string]any{"structuredContent": text, "content": []any{map[string]any{"type": "text", "text": string(text)}}})
	if len(sent) > MaxAnswer-200 {
		t.Errorf("an answer of %s takes %d bytes", tool, len(sent))
	}
	var page mcptest.Page
	if err := json.Unmarshal(text, &page); err != nil {
		t.Fatal(err)
	}
	return &page, nil
}

// rest is a whole answer, from the page that a cursor leads to.
func (p *program) rest(t *testing.T, tool string, whole any, cursor string) (any, int) {
	t.Helper()
	n := 0
	for ; cursor != ""; n++ {
		page, err := p.ask(t, tool, `{"cursor":"`+cursor+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		whole, cursor = mcptest.Merge(whole, page), page.Cursor
	}
	return whole, n
}

func TestArguments(t *testing.T) {
	long := strings.Repeat("n", maxText)
	seq := "hint: The number of the entry (seq)."
	for _, c := range []struct{ tool, args, want string }{
		{"entry", ``, "entry needs seq\nhint: seq: The number of the entry (seq)."},
		{"entry", `{"seq":null}`, "entry needs seq\nhint: seq: The number of the entry (seq)."},
		{"entry", `[1]`, "the arguments of entry are no JSON object"},
		{"entry", `{"seq":1}`, `[{},{"seq":1},{}]`},
		{"entry", `{"seq":"9223372036854775807","path":"a.b"}`, `[{"path":"a.b"},{"seq":9223372036854775807},{}]`},
		{"entry", `{"seq":9223372036854775808}`, "seq is a whole number from 1 on, not 9223372036854775808\n" + seq},
		{"entry", `{"seq":0}`, "seq is a whole number from 1 on, not 0\n" + seq},
		{"entry", `{"seq":1.5}`, "seq is a whole number from 1 on, not 1.5\n" + seq},
		{"entry", `{"seq":"` + strings.Repeat("8", 99) + `"}`, `seq is a whole number from 1 on, not "` + strings.Repeat("8", 38) + "…\n" + seq},
		{"entry", `{"seq":1,"Paht":"x"}`, "entry has no argument \"Paht\"\nhint: did you mean path?"},
		{"entry", `{"seq":1,"` + long + `":"x"}`, `entry has no argument "` + strings.Repeat("n", 59) + "…\"\nhint: its arguments are seq, resource, path, cursor"},
		{"entry", `{"seq":1,"resource":"` + long + `"}`, `[{"resource":"` + long + `"},{"seq":1},{}]`},
		{"entry", `{"seq":1,"resource":"` + long + `n"}`, "resource has 16385 bytes, and at most 16384 are taken\nhint: Of a response, only the resource with this name."},
		{"entry", `{"seq":1,"resource":5}`, "resource is a text, not 5\nhint: Of a response, only the resource with this name."},
		{"check", `{"severity":"error"}`, `[{"severity":"error"},{},{}]`},
		{"check", `{"severity":""}`, `[{"severity":""},{},{}]`},
		{"check", `{"severity":"fatal"}`, "severity is one of error, warning, info, not \"fatal\"\nhint: Only findings of this severity or a graver one: error, warning or info. Without it: all."},
		{"timeline", `{"unfolded":true,"from":7}`, `[{},{"from":7},{"unfolded":true}]`},
		{"timeline", `{"unfolded":"false"}`, `[{},{},{"unfolded":false}]`},
		{"timeline", `{"unfolded":"maybe"}`, "unfolded is true or false, not \"maybe\"\nhint: True: each entry for itself, those that only repeat others, too."},
		{"diff", `{"name":"a","cursor":"c"}`, `[{"name":"a"},{},{}]`},
	} {
		a, cursor, err := toolOf(t, c.tool).parseArgs(json.RawMessage(c.args))
		var got string
		if err != nil {
			got = sentence(err)
		} else {
			got = string(a.canonical())
		}
		if got != c.want || (cursor == "c") != (c.tool == "diff") {
			t.Errorf("%.80s of %s: %.200s\nwant %.200s", c.args, c.tool, got, c.want)
		}
	}
	a, _, err := toolOf(t, "timeline").parseArgs(json.RawMessage(`{"unfolded":true,"from":7,"filter":"kind:nack"}`))
	if err != nil || !a.Flag("unfolded") || a.Number("from") != 7 || a.Text("filter") != "kind:nack" || a.Flag("from") || a.Number("at") != 0 || a.Text("from") != "" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestSchemas(t *testing.T) {
	for tool, want := range map[string]string{
		"check":   `{"additionalProperties":false,"properties":{"cursor":"string","rule":"string","severity":["error","warning","info"]},"type":"object"}`,
		"entry":   `{"additionalProperties":false,"properties":{"cursor":"string","path":"string","resource":"string","seq":1},"required":["seq"],"type":"object"}`,
		"explain": `{"additionalProperties":false,"properties":{"cursor":"string","rule":"string"},"type":"object"}`,
	} {
		schema := toolOf(t, tool).schema()
		properties := schema["properties"].(map[string]any)
		for name, p := range properties {
			switch one := p.(map[string]any); {
			case one["description"] == "":
				t.Errorf("%s of %s is not described", name, tool)
			case one["enum"] != nil:
				properties[name] = one["enum"]
			case one["minimum"] != nil:
				properties[name] = one["minimum"]
			default:
				properties[name] = one["type"]
			}
		}
		if got := string(compact(t, schema)); got != want {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// big is a document of more than one page.
func big(first string) map[string]any {
	list := []any{first}
	for i := range 900 {
		list = append(list, map[string]any{"cluster": fmt.Sprintf("%s-%d.payments.svc.cluster.local", strings.Repeat("c", 40), i)})
	}
	return map[string]any{"clients": list}
}

func printsJSON(v any) Print {
	return func(_ context.Context, _ string, _ *Args, out, _ io.Writer) error {
		return json.NewEncoder(out).Encode(v)
	}
}

// What is longer than a page is printed once, and goes on as it was.
func TestDocumentGoesOn(t *testing.T) {
	p := serverOf(printsJSON(big("a")))
	page, err := p.ask(t, "clients", "")
	if err != nil || page.Cursor == "" || page.BeginsAt != "" || page.Recording != "session.xdsp" || !slices.Equal(page.Notes, []string{"of the running proxy"}) {
		t.Fatalf("%+v, %v", page, err)
	}
	cursor := page.Cursor
	p.print = printsJSON(big("b"))
	whole, n := p.rest(t, "clients", page.Answer, cursor)
	if n < 5 || p.printed != 1 || !reflect.DeepEqual(whole, any(big("a"))) {
		t.Errorf("%d more pages, printed %d times, differ from what was printed", n, p.printed)
	}
	for _, c := range []struct{ tool, args, why string }{
		{"clients", `{"cursor":"` + cursor + `","at":3}`, "the cursor is of another call\nhint: give it with the tool and the arguments of the answer that it is from"},
		{"check", `{"cursor":"` + cursor + `"}`, "the cursor is of another call\nhint: give it with the tool and the arguments of the answer that it is from"},
		{"clients", `{"cursor":"` + cursor[1:] + `"}`, "the cursor is none that this server gave\nhint: call the tool without a cursor to begin anew"},
	} {
		if _, err := p.ask(t, c.tool, c.args); err == nil || sentence(err) != c.why {
			t.Errorf("%s: %v", c.args, err)
		}
	}
	// A cursor that is rightly signed and leads to where nothing begins.
	own, err := parseCursor(cursor)
	if err != nil {
		t.Fatal(err)
	}
	own.position = position{at: 2}
	if _, err := p.ask(t, "clients", `{"cursor":"`+own.String()+`"}`); err == nil || !strings.Contains(sentence(err), errNoCursor.Error()) {
		t.Error(err)
	}
	p.kept = kept{} // long ago
	if _, err := p.ask(t, "clients", `{"cursor":"`+cursor+`"}`); err == nil || !strings.Contains(err.Error(), "the recording has grown since") {
		t.Error(err)
	}
	p.print = printsJSON(big("a"))
	if again, err := p.ask(t, "clients", `{"cursor":"`+cursor+`"}`); err != nil || again.BeginsAt == "" {
		t.Errorf("the same again is refused: %v", err)
	}
	p.identity = "made at ten"
	if _, err := p.ask(t, "clients", `{"cursor":"`+cursor+`"}`); err == nil || sentence(err) != "the cursor is of another recording\nhint: call the tool without a cursor to begin anew" {
		t.Error(err)
	}
}

// An error beside an answer is a note of it; without one, it is the answer.
func TestDocumentFails(t *testing.T) {
	failure := console.Failed("block 3 of session.xdsp is damaged").Hint("xdsproxy export --repair")
	for _, c := range []struct {
		printed string
		err     error
		want    string // the error, or the notes
	}{
		{"", failure, "block 3 of session.xdsp is damaged\nhint: xdsproxy export --repair"},
		{"{}", failure, "[of the running proxy block 3 of session.xdsp is damaged hint: xdsproxy export --repair]"},
		{"{}", nil, "[of the running proxy]"},
		{"{", nil, "status -o json printed no JSON: unexpected end of JSON input"},
	} {
		p := serverOf(func(_ context.Context, _ string, _ *Args, out, _ io.Writer) error {
			fmt.Fprint(out, c.printed)
			return c.err
		})
		page, err := p.ask(t, "clients", "")
		got := ""
		if err != nil {
			got = sentence(err)
		} else {
			got = fmt.Sprint(page.Notes)
		}
		if got != c.want {
			t.Errorf("%q, %v: %s", c.printed, c.err, got)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	p := serverOf(func(_ context.Context, _ string, _ *Args, out, _ io.Writer) error {
		stop()
		fmt.Fprint(out, "{}")
		return context.Canceled
	})
	if text, err := p.answer(ctx, toolOf(t, "clients"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who has gone is answered %s, %v", text, err)
	}
	p.Recording = func(context.Context, io.Writer) (string, []byte, error) { return "", nil, failure }
	if _, err := p.ask(t, "clients", ""); !errors.Is(err, failure) {
		t.Error(err)
	}
}

// What is kept is bounded, by number and by bytes; the oldest goes.
func TestKept(t *testing.T) {
	number := func(i int) mark { return mark{byte(i)} }
	held := func(k *kept) (out []int) {
		for i := range 20 {
			if k.get(number(i), mark{}) != nil {
				out = append(out, i)
			}
		}
		return out
	}
	var k kept
	k.put(number(0), mark{}, make([]byte, MaxAnswer/4-1)) // made again as fast
	k.put(number(1), mark{}, make([]byte, maxKeptBytes+1))
	if got := held(&k); got != nil {
		t.Errorf("%v are kept", got)
	}
	for i := 2; i < 11; i++ {
		k.put(number(i), mark{}, make([]byte, MaxAnswer/4))
		k.put(number(i), mark{}, make([]byte, MaxAnswer/4)) // the same
	}
	if got, want := held(&k), []int{3, 4, 5, 6, 7, 8, 9, 10}; !slices.Equal(got, want) {
		t.Errorf("%v are kept", got)
	}
	if k.get(number(3), mark{1}) != nil {
		t.Error("another answer to the same call is given")
	}
	k.put(number(11), mark{}, make([]byte, maxKeptBytes-MaxAnswer/4))
	if got, want := held(&k), []int{10, 11}; !slices.Equal(got, want) {
		t.Errorf("%v are kept", got)
	}
	k.put(number(12), mark{}, make([]byte, maxKeptBytes))
	if got, want := held(&k), []int{12}; !slices.Equal(got, want) {
		t.Errorf("%v are kept", got)
	}
}

// printsLines prints n lines, of which one is long, and ends with an error or without.
func printsLines(n, long int, err error) Print {
	return func(_ context.Context, _ string, _ *Args, out, notes io.Writer) error {
		for i := range n {
			if _, err := fmt.Fprintf(out, "{\"seq\":%d,\"text\":%q}\n", i+1, entryText(i, long)); err != nil {
				return err
			}
		}
		fmt.Fprintln(notes, "the last is", n)
		return err
	}
}

func entryText(i, long int) string {
	if i == long {
		return strings.Repeat(fmt.Sprintf("%d € ", i), 3000)
	}
	return strings.Repeat("x", 70)
}

func entriesOf(n, long int) any {
	list := []any{}
	for i := range n {
		list = append(list, map[string]any{"seq": float64(i + 1), "text": entryText(i, long)})
	}
	return map[string]any{"entries": list}
}

func TestLines(t *testing.T) {
	failure := errors.New("entry 700 cannot be read")
	p := serverOf(printsLines(700, 300, failure))
	first, err := p.ask(t, "timeline", "")
	if err != nil || first.Cursor == "" || first.BeginsAt != "" || len(first.Notes) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	begins := fmt.Sprintf("entries[%d]", len(first.Answer.(map[string]any)["entries"].([]any)))
	whole, n := p.rest(t, "timeline", first.Answer, first.Cursor)
	if n < 8 || p.printed != 1 || len(p.walks) != 0 || !reflect.DeepEqual(whole, entriesOf(700, 300)) {
		t.Errorf("%d more pages, printed %d times, %d walks left: not what was printed", n, p.printed, len(p.walks))
	}
	// Once more from the cursor: the walk is over, and what was given is passed over.
	second, err := p.ask(t, "timeline", `{"cursor":"`+first.Cursor+`"}`)
	if err != nil || p.printed != 2 || second.BeginsAt != begins {
		t.Errorf("%s, not %s, %v, printed %d times", second.BeginsAt, begins, err, p.printed)
	}
	p.walks.drop()

	// What comes last has the notes of all, and the error.
	p = serverOf(printsLines(3, -1, failure))
	page, err := p.ask(t, "timeline", "")
	if err != nil || page.Cursor != "" || !reflect.DeepEqual(page.Answer, entriesOf(3, -1)) || !slices.Equal(page.Notes, []string{"of the running proxy", "the last is 3", failure.Error()}) {
		t.Errorf("%+v, %v", page, err)
	}
	p.print = printsLines(0, -1, failure)
	if page, err := p.ask(t, "timeline", ""); !errors.Is(err, failure) {
		t.Errorf("%+v, %v", page, err)
	}
	p.print = printsLines(0, -1, nil)
	if page, err = p.ask(t, "timeline", ""); err != nil || !reflect.DeepEqual(page.Answer, entriesOf(0, -1)) {
		t.Errorf("%+v, %v", page, err)
	}
	p.print = printsLines(5, -1, nil) // fewer than were given before
	if page, err := p.ask(t, "timeline", `{"cursor":"`+first.Cursor+`"}`); err == nil || sentence(err) != "the cursor goes on behind the end\nhint: call the tool without a cursor to begin anew" {
		t.Errorf("%+v, %v", page, err)
	}
	own, err := parseCursor(first.Cursor)
	if err != nil {
		t.Fatal(err)
	}
	own.line, own.position = 0, position{at: 3}
	if page, err := p.ask(t, "timeline", `{"cursor":"`+own.String()+`"}`); err == nil || !strings.Contains(sentence(err), errNoCursor.Error()) {
		t.Errorf("%+v, %v", page, err)
	}
}

// Two walks are kept where they stopped, and a third lets the oldest of them go.
func TestWalks(t *testing.T) {
	p := serverOf(printsLines(500, -1, nil))
	defer p.walks.drop()
	next := map[string]string{}
	for _, filter := range []string{"a", "b", "c"} {
		page, err := p.ask(t, "timeline", `{"filter":"`+filter+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		next[filter] = page.Cursor
	}
	if len(p.walks) != 2 || p.printed != 3 {
		t.Fatalf("%d walks are kept, of %d", len(p.walks), p.printed)
	}
	for i, filter := range []string{"b", "c", "a"} { // a last: it takes the place of b
		page, err := p.ask(t, "timeline", `{"filter":"`+filter+`","cursor":"`+next[filter]+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if want := 3 + i/2; p.printed != want || page.BeginsAt == "" {
			t.Errorf("%s at %s: printed %d times, not %d", filter, page.BeginsAt, p.printed, want)
		}
	}
}

// What is said beside an answer is said once, and is bounded.
func TestSaid(t *testing.T) {
	said := func(text string) []string {
		c := &call{}
		c.notes.WriteString(text)
		return c.said()
	}
	if got := said("  one\n\ntwo\none\n"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q", got)
	}
	many, takes := said(strings.Repeat("x", 2000)+"\n"+strings.Repeat("y", 2000)+"\n"+strings.Repeat("z", 2000)+"\nq\n"), 0
	for _, line := range many {
		takes += weigh([]byte(line)) + 8
	}
	if len(many) != 3 || many[2] != "and more" || takes > maxNotes || len(many[0]) != 511 {
		t.Errorf("%d lines, that take %d, the first with %d bytes", len(many), takes, len(many[0]))
	}
	// A line that leaves 100 is said, and one that leaves less is not.
	for n, want := range map[int]bool{474: true, 475: false} {
		lines := said(strings.Repeat("a", 500) + "\n" + strings.Repeat("b", 500) + "\n" + strings.Repeat("c", n) + "\n")
		if len(lines) != 3 || (lines[2] != "and more") != want {
			t.Errorf("%d: %d lines, the last of them %.20s", n, len(lines), lines[len(lines)-1])
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 14, "abc"},
		{"abc", 13, "ab…"},
		{"a\"b", 15, "a\"b"},
		{"a\"b", 14, "a\"…"},
		{"a<b", 24, "a<b"},
		{"a<b", 23, "a<…"},
		{"é", 12, "é"},
		{"é", 11, "…"},
		{"  ", 12, "  "},
		{"  ", 11, " …"},
		{"\n", 22, "\n"},
		{"\n", 21, "…"},
		{"", 0, ""},
	} {
		if got := cut(c.text, c.most); got != c.want {
			t.Errorf("%q, %d: %q, not %q", c.text, c.most, got, c.want)
		}
	}
}

func TestSentence(t *testing.T) {
	f := console.Failed("%s", "no\x1b[2J such")
	for i := range 8 {
		f.Hint("hint %d", i)
	}
	want := `no\x1b[2J such` + "\nhint: hint 0\nhint: hint 1\nhint: hint 2\nhint: hint 3\nhint: hint 4\nhint: hint 5"
	if got := sentence(f); got != want {
		t.Errorf("%q", got)
	}
	if got := sentence(errors.New(strings.Repeat("x", 9000))); len(got) > room/4 || !strings.HasSuffix(got, "x…") {
		t.Errorf("%d bytes", len(got))
	}
	if got := sentence(console.Failed("a").Hint("%s", strings.Repeat("x", 9000))); len(got) > room/12+20 || !strings.HasSuffix(got, "x…") {
		t.Errorf("%d bytes", len(got))
	}
}

// An answer that is as long as it may be goes by as it is.
func TestComplaintsOnly(t *testing.T) {
	complaint := func(n int) []byte {
		text := []byte(`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"`)
		return append(append(text, bytes.Repeat([]byte("m"), n-len(text)-4)...), "\"}}\n"...)
	}
	if got := shortComplaint(complaint(MaxAnswer)); len(got) != MaxAnswer {
		t.Errorf("one of %d bytes has %d", MaxAnswer, len(got))
	}
	want := `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"` + strings.Repeat("m", (maxPlace-8)/2) + "…\"}}\n"
	if got := shortComplaint(complaint(MaxAnswer + 1)); string(got) != want {
		t.Errorf("%s", got)
	}
	for _, other := range []string{`{"jsonrpc":"2.0","id":7,"result":"` + strings.Repeat("r", MaxAnswer) + `"}`, strings.Repeat("r", MaxAnswer+1)} {
		if got := shortComplaint([]byte(other)); string(got) != other {
			t.Errorf("%.60s has become %.60s", other, got)
		}
	}
}

// Places of long names take their room, and the answer is no longer for it.
func TestLongPlaces(t *testing.T) {
	list := big("a")["clients"]
	for i := range 12 {
		list = map[string]any{strings.Repeat(string(rune('a'+i)), 400): list}
	}
	p := serverOf(printsJSON(map[string]any{"clients": list}))
	page, err := p.ask(t, "clients", "")
	for n := 0; err == nil && page.Cursor != ""; n++ {
		if page, err = p.ask(t, "clients", `{"cursor":"`+page.Cursor+`"}`); err == nil && (len(page.BeginsAt) < 500 || len(page.AnswerAt) < 500 || weigh([]byte(page.BeginsAt)) > maxPlace+8) {
			t.Errorf("page %d begins at %d bytes, of %d", n, len(page.BeginsAt), len(page.AnswerAt))
		}
	}
	if err != nil {
		t.Error(err)
	}
}
