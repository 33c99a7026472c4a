package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

const recordings = "../../../check/testdata/"

// read gives back the entries of a recording.
func read(t testing.TB, name string) []session.Entry {
	t.Helper()
	return recordertest.Entries(t, recordings+name+".xdsp")
}

// telling is a walk over entries, as a command does it. What is told of each may be
// changed on its way.
type telling struct {
	all     []session.Entry
	change  func(*check.Change)
	found   func([]check.Finding)
	chosen  func(*check.Change) bool
	checker *check.Checker
}

func (w *telling) walk(visit convert.Visit) error {
	w.checker = check.NewChecker(check.Options{})
	for i := range w.all {
		c := w.checker.Step(&w.all[i])
		chosen := w.chosen == nil || w.chosen(&c)
		if w.change != nil {
			w.change(&c)
		}
		if err := visit(&w.all[i], &c, chosen); err != nil {
			return err
		}
	}
	return nil
}

func (w *telling) page(t testing.TB, o convert.Report, room bounds) string {
	t.Helper()
	o.Findings = func() []check.Finding {
		found := w.checker.Findings()
		if w.found != nil {
			w.found(found)
		}
		return found
	}
	var b bytes.Buffer
	if _, err := write(&b, w.walk, Options{Report: o}, room); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// contents is the data in a page, as a program reads it.
type contents struct {
	Summary  summary
	Findings []render.Finding
	Evidence []evidence
	Clients  []client
	LeftOut  []sum `json:"left_out"`
	Entries  []entry
	Parts    map[string]json.RawMessage
}

type entry struct {
	Seq     uint64
	What    string
	Kind    string
	Names   []string
	Message map[string]json.RawMessage
	Parts   map[string]json.RawMessage
	Lists   map[string]int
}

const dataStart = "<script type=\"application/json\" id=\"data\">\n"

func dataOf(t testing.TB, page string) string {
	t.Helper()
	_, rest, _ := strings.Cut(page, dataStart)
	data, _, found := strings.Cut(rest, "\n</script>")
	if !found {
		t.Fatal("there is no data")
	}
	return data
}

func contentsOf(t testing.TB, page string) *contents {
	t.Helper()
	var c contents
	if err := json.Unmarshal([]byte(dataOf(t, page)), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// Put together from its pieces, each entry says what show -o json says of it, and
// the findings are those of check -o json.
func TestPageSaysWhatShowSays(t *testing.T) {
	for _, name := range []string{"sessions/demo", "sessions/envoy-delta-nack", "systems/istio-router-delta"} {
		w := &telling{all: read(t, name)}
		c := contentsOf(t, w.page(t, convert.Report{}, usual()))
		if len(c.Entries) != len(w.all) || len(c.LeftOut) != 0 {
			t.Fatalf("%s: %d of %d entries, and %v left out", name, len(c.Entries), len(w.all), c.LeftOut)
		}
		documents, i := render.NewDocuments(), 0
		if err := w.walk(func(e *session.Entry, change *check.Change, _ bool) error {
			documents.See(e)
			doc, err := documents.Document(e, change)
			if err != nil {
				return err
			}
			var want struct {
				Seq     uint64
				What    string
				Kind    string
				Names   []string
				Message map[string]any
			}
			if err := json.Unmarshal(doc.JSON(), &want); err != nil {
				return err
			}
			got := c.Entries[i]
			i++
			if id, is := got.Lists["names"]; is {
				if err := json.Unmarshal(c.Parts[fmt.Sprint(id)], &got.Names); err != nil {
					return err
				}
			}
			if got.Seq != want.Seq || got.What != want.What || got.Kind != want.Kind || !slices.Equal(got.Names, want.Names) {
				t.Errorf("%s: %d %s %s %q, want %d %s %s %q", name, got.Seq, got.Kind, got.What, got.Names, want.Seq, want.Kind, want.What, want.Names)
			}
			for k, ref := range got.Parts {
				var ids []int
				var id int
				switch {
				case json.Unmarshal(ref, &id) == nil:
					got.Message[k] = c.Parts[string(ref)]
				case json.Unmarshal(ref, &ids) == nil:
					var items []json.RawMessage
					for _, id := range ids {
						items = append(items, c.Parts[fmt.Sprint(id)])
					}
					got.Message[k], _ = json.Marshal(items)
				default:
					t.Errorf("%s: entry %d has %s at %s", name, got.Seq, k, ref)
				}
			}
			is, _ := json.Marshal(got.Message)
			should, _ := json.Marshal(want.Message)
			if !sameJSON(t, is, should) {
				t.Errorf("%s: entry %d is\n%s\nwant\n%s", name, got.Seq, is, should)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		report := render.NewReport()
		report.Add("", w.checker.Findings(), w.checker.Summary())
		want, err := json.Marshal(report.Findings)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(c.Findings)
		bySeverity := func(all []render.Finding) []string {
			var out []string
			for _, f := range all {
				text, _ := json.Marshal(f)
				out = append(out, string(text))
			}
			slices.Sort(out)
			return out
		}
		if !slices.Equal(bySeverity(c.Findings), bySeverity(report.Findings)) {
			t.Errorf("%s: findings are\n%s\nwant\n%s", name, got, want)
		}
	}
}

func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(x)
	other, _ := json.Marshal(y)
	return bytes.Equal(one, other)
}

// many is the demo's session, one after the other, with new numbers.
func many(t testing.TB, entries int) []session.Entry {
	t.Helper()
	demo := read(t, "sessions/demo")
	var all []session.Entry
	for round := 0; len(all) < entries; round++ {
		for _, e := range demo {
			e.Seq = session.Seq(len(all) + 1)
			e.Time = e.Time.Add(time.Duration(round) * time.Minute)
			if e.Conn != 0 {
				e.Conn += session.ConnID(100 * round)
			}
			if e.Stream != 0 {
				e.Stream += session.StreamID(100 * round)
			}
			all = append(all, e)
		}
	}
	return all[:entries]
}

// What there is no room for is counted, entry by entry, and what proves a finding is
// there in full.
func TestPageSumsUp(t *testing.T) {
	const entries = 3000
	w := &telling{all: many(t, entries)}
	whole := w.page(t, convert.Report{}, usual())
	for _, room := range []bounds{
		{entries: 500, heads: maxHeads, bodies: maxBodies, decoded: maxDecoded},
		{entries: entries, heads: 400 << 10, bodies: maxBodies, decoded: maxDecoded},
		{entries: entries, heads: maxHeads, bodies: 100 << 10, decoded: maxDecoded},
		{entries: entries, heads: maxHeads, bodies: maxBodies, decoded: 20 << 10},
		{entries: 1, heads: 1, bodies: 1, decoded: 1},
	} {
		text := w.page(t, convert.Report{}, room)
		if len(text) >= len(whole) {
			t.Errorf("%+v: %d bytes, and without a bound %d", room, len(text), len(whole))
		}
		c := contentsOf(t, text)
		told, last, bodies := len(c.Entries), uint64(0), 0
		for _, s := range c.LeftOut {
			told += s.Entries
			if s.First <= last || s.Last < s.First || int(s.Last-s.First)+1 != s.Entries {
				t.Errorf("%+v: left out are %d to %d, %d entries, after %d", room, s.First, s.Last, s.Entries, last)
			}
			last = s.Last
			n := 0
			for _, of := range s.What {
				n += of
			}
			if n != s.Entries {
				t.Errorf("%+v: %d of %d entries have a kind", room, n, s.Entries)
			}
		}
		if told != entries {
			t.Errorf("%+v: %d entries are told of", room, told)
		}
		for _, e := range c.Entries {
			if e.Message != nil {
				bodies++
			}
			for _, id := range e.Lists {
				if c.Parts[fmt.Sprint(id)] == nil {
					t.Fatalf("%+v: entry %d refers to %d, which is not there", room, e.Seq, id)
				}
			}
			for _, ids := range e.Parts {
				for _, id := range strings.FieldsFunc(string(ids), func(r rune) bool { return r < '0' || r > '9' }) {
					if c.Parts[id] == nil {
						t.Fatalf("%+v: entry %d refers to %s, which is not there", room, e.Seq, id)
					}
				}
			}
		}
		if room.heads > 1 {
			for _, v := range c.Evidence {
				for _, seq := range v.Seqs {
					if !slices.ContainsFunc(c.Entries, func(e entry) bool { return e.Seq == uint64(seq) }) {
						t.Errorf("%+v: entry %d of a finding is left out", room, seq)
					}
				}
			}
		}
		t.Logf("%+v: %d entries, %d with a message, %d bytes", room, len(c.Entries), bodies, len(text))
	}
}

// Long lists of names that are new in every entry are bounded as messages are.
func TestPageOfManyNames(t *testing.T) {
	n := 0
	w := &telling{all: many(t, 1500), change: func(c *check.Change) {
		if c.Message == nil {
			return
		}
		c.Added, c.Method.Path = nil, fmt.Sprintf("/%0*d", 200, n)
		for range 1000 {
			n++
			c.Added = append(c.Added, fmt.Sprintf("outbound|8080||service-%07d.shop", n))
		}
	}}
	room := usual()
	text := w.page(t, convert.Report{}, room)
	if c := contentsOf(t, text); len(text) > 10_000_000 || len(c.Entries) != len(w.all) {
		t.Errorf("%d of %d entries in %d bytes", len(c.Entries), len(w.all), len(text))
	}
	room.bodies = 4 << 10 // less than their methods take
	if c := contentsOf(t, w.page(t, convert.Report{}, room)); len(c.LeftOut) == 0 {
		t.Errorf("%d of %d entries, %d parts", len(c.Entries), len(w.all), len(c.Parts))
	}
}

// The entries that a comparison names are there, too, however little room there is.
func TestPageHasWhatIsCompared(t *testing.T) {
	files, err := filepath.Glob(recordings + "s*/*.xdsp")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	compared := 0
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), recordings), ".xdsp")
		room := usual()
		room.entries = 1
		c := contentsOf(t, (&telling{all: read(t, name)}).page(t, convert.Report{}, room))
		for _, v := range c.Evidence {
			for _, r := range v.Resources {
				seqs := []uint64{r.Now.Seq}
				if r.Before != nil {
					seqs = append(seqs, r.Before.Seq)
					compared++
				}
				for _, seq := range seqs {
					if !slices.ContainsFunc(c.Entries, func(e entry) bool { return e.Seq == seq && e.Message != nil }) {
						t.Errorf("%s: %s is compared as in entry %d, which is not there", name, r.Name, seq)
					}
				}
			}
		}
	}
	if compared < 10 {
		t.Errorf("only %d resources are compared with what was accepted", compared)
	}
}

// Chosen entries alone are there, and what explains the findings about them.
func TestPageOfChosen(t *testing.T) {
	w := &telling{all: read(t, "sessions/demo"), chosen: func(c *check.Change) bool { return c.Type == "SDS" }}
	c := contentsOf(t, w.page(t, convert.Report{Chosen: "type:sds"}, usual()))
	if len(c.Entries) == 0 || len(c.Entries) >= len(w.all)/2 {
		t.Errorf("%d of %d entries", len(c.Entries), len(w.all))
	}
}

// What differs between a rejected resource and the one in use is in the page, for
// people and for programs.
func TestPageHasTheDifference(t *testing.T) {
	c := contentsOf(t, (&telling{all: read(t, "sessions/demo")}).page(t, convert.Report{}, usual()))
	r := c.Evidence[0].Resources[0]
	if r.Name != "search" || r.Sent != "rejected" || r.Before == nil || r.Before.State != "ACKED" {
		t.Errorf("%+v", r)
	}
	var lines []string
	for _, l := range r.Lines {
		if l.Sign != "" {
			lines = append(lines, l.Sign+" "+l.Text)
		}
	}
	if want := []string{"- connect_timeout: 1s", "+ connect_timeout: 0s", "+ lb_policy: MAGLEV"}; !slices.Equal(lines, want) {
		t.Errorf("the lines are %q, want %q", lines, want)
	}
	if len(r.Changes) != 2 || r.Changes[0].Path != "connect_timeout" {
		t.Errorf("the changes are %+v", r.Changes)
	}
}

// Whatever bytes a text consists of, what stands in the page means the same, and has
// nothing in it that a parser of HTML or of script takes for its own.
func FuzzInert(f *testing.F) {
	for _, s := range []string{"", "</script><script>alert(1)</script>", "<!--<script>", "]]>&amp;&#60;", "\u2028\u2029\u2027\u202a", "\xe2\x80", "\xe2\x80\xa8\xff", `\u003c\"`, "\x00\x1b[2J"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		json0, err := text(map[string]string{"k" + s: s})
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsAny(json0, "<>&\u2028\u2029") {
			t.Errorf("%q has a character that is not inert", json0)
		}
		if again := inert(json0); !bytes.Equal(again, json0) {
			t.Errorf("%q becomes %q", json0, again)
		}
		var page bytes.Buffer
		if _, err := assemble(&page, json0); err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(dataOf(t, page.String())), &got); err != nil {
			t.Fatalf("%v: %q", err, json0)
		}
		if valid := string([]rune(s)); len(got) != 1 || got["k"+valid] != valid { // what is no UTF-8 is U+FFFD
			t.Errorf("%q came back as %q", s, got)
		}
	})
}

// The page names the script and the style in it, and allows nothing else.
func TestPolicy(t *testing.T) {
	text := (&telling{all: read(t, "sessions/demo")}).page(t, convert.Report{}, usual())
	head, _, _ := strings.Cut(text, "<style>")
	if want := fmt.Sprintf(`content="`+policy+`"`, hash(flat(pageScript)), hash(flat(pageStyle))); !strings.Contains(head, want) || strings.Contains(head, "unsafe") {
		t.Errorf("no %s in %s", want, head)
	}
	for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch(", "XMLHttpRequest", "import(", "import ", "serviceWorker", "localStorage", "http://", "https://", "</"} {
		if strings.Contains(pageScript, bad) {
			t.Errorf("the script has %q", bad)
		}
	}
	for _, bad := range []string{"url(", "@import", "http", "</"} {
		if strings.Contains(pageStyle, bad) {
			t.Errorf("the style has %q", bad)
		}
	}
	for _, bad := range []string{"src=", "style=", " onclick=", "<link", "<iframe", "http"} {
		if strings.Contains(pageBody, bad) {
			t.Errorf("the body has %q", bad)
		}
	}
}

// The changes of a comparison are there as long as they are of no more than maxChanges.
func TestPageHasChangesUpToABound(t *testing.T) {
	one := func(text string) *document.Tree {
		return &document.Tree{Members: []document.Member{{Name: "a", Value: document.Tree{Kind: document.String, Text: text}}}}
	}
	around := len(`a`+`"x"`+`""`) + overhead // the path, and both texts as JSON
	for more, is := range map[int]bool{0: true, 1: false} {
		b := builder{bounds: usual(), pool: newPool()}
		got := b.compare(&convert.Compared{
			Before: &history.Version{},
			Diff:   diff.Compare(one("x"), one(strings.Repeat("y", maxChanges-around+more)), diff.Options{}),
		})
		if len(got.Changes) == 1 != is {
			t.Errorf("%d bytes more than the bound: %d changes", more, len(got.Changes))
		}
	}
}
