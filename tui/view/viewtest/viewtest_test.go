package viewtest

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/golden/verdict"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

const root = "../../.."

// fruit is a table of little: a view that can do everything that views can.
type fruit struct {
	view.Plain
	at, ticks, handled int
	asked              []string
	counted            map[string]bool
	sort               string
	extra              int // rows more than there is room for
}

var names = []string{"apple", "pear", "cherry cds", "plum", "quince c1"}

func (v *fruit) Title() string { return "fruit" }
func (v *fruit) Keys() []key.Offer {
	return []key.Offer{{Act: key.Open, Hint: "eat"}, {Act: key.Close}, {Act: key.Copy}, {Act: key.Ladder}}
}

func (v *fruit) Where(view.Screen) string      { return fmt.Sprintf("%d of %d", v.at+1, len(v.rows())) }
func (v *fruit) About(view.Screen) widget.Line { return widget.Text(widget.Good, "ripe") }
func (v *fruit) Tick(view.Screen) tea.Cmd      { v.ticks++; return nil }
func (v *fruit) Language() view.PromptKind     { return view.RowFilter }
func (v *fruit) Selected(view.Screen) view.Selection {
	return view.Selection{Name: names[v.at]}
}

func (v *fruit) Query() string {
	if len(v.asked) == 0 {
		return ""
	}
	return v.asked[len(v.asked)-1]
}

func (v *fruit) rows() (out []string) {
	for _, n := range names {
		if strings.Contains(n, v.Query()) {
			out = append(out, n)
		}
	}
	if v.sort == "name" {
		slices.Sort(out)
	}
	return out
}

func (v *fruit) Columns(scr view.Screen) (out []chosen.Column) {
	of := scr.Choice(v.Title())
	return []chosen.Column{
		{Title: "name", Width: of.Width("name", 10, 100), Fixed: true},
		{Title: "weight", Width: of.Width("weight", 5, 100)},
		{Title: "place", Width: of.Width("place", 0, 100)},
	}
}

func (v *fruit) SortBy(_ view.Screen, title string) (tea.Cmd, bool) {
	v.sort = title
	return nil, title != "place"
}

func (v *fruit) Draw(scr view.Screen, w, h int) (out []widget.Line) {
	for i, n := range v.rows() {
		if len(out) < h {
			c := v.Columns(scr)
			line := widget.Spans(widget.In(widget.Plain, fmt.Sprintf("%-*s", c[0].Width, n)), widget.In(widget.Muted, strings.Repeat("#", c[1].Width)))
			if w >= 100 {
				line.Add(widget.Warned, fmt.Sprintf(" of %d", w/40))
			}
			if scr.Aliases().On {
				line.Add(widget.Accent, " alias")
			}
			line.Selected = i == v.at
			out = append(out, line)
		}
	}
	for len(out) > 0 && v.extra > 0 && len(out) < h+v.extra {
		out = append(out, widget.Blank())
	}
	return out
}

func (v *fruit) Do(scr view.Screen, a key.Action) tea.Cmd {
	switch a {
	case key.Down:
		v.at = min(v.at+1, len(v.rows())-1)
	case key.Up, key.First:
		v.at = 0
	case key.Open:
		scr.Push(&fruit{})
	case key.Close:
		return scr.Act(a, v.Selected(scr))
	case key.Copy:
		return scr.Copy(names[v.at], "the name")
	case key.Ladder: // two commands, the second of which leads to another
		return tea.Batch(view.Answer(v, func() any { return 1 }), view.Answer(v, func() any { return 10 }))
	case key.Unfilter:
		v.asked = v.asked[:max(len(v.asked)-1, 0)]
	case key.Narrower, key.Wider:
		return view.Resize(scr, v, "weight", a)
	}
	return nil
}

func (v *fruit) Handle(_ view.Screen, msg any) tea.Cmd {
	switch msg := msg.(type) {
	case int:
		v.handled += msg
		if msg == 10 {
			return view.Answer(v, func() any { return 100 })
		}
	case string:
		v.counted[msg] = true
	}
	return nil
}

func (v *fruit) Click(scr view.Screen, x, y int, twice bool) tea.Cmd {
	if y < len(v.rows()) {
		v.at = y
	}
	if twice {
		scr.Say("opens %d", x)
	}
	return nil
}

func (v *fruit) Ask(_ view.Screen, text string) (tea.Cmd, error) {
	if strings.Contains(text, "-") {
		return nil, errors.New("no such filter")
	}
	v.asked, v.at = append(v.asked, text), 0
	return nil, nil
}

func (v *fruit) Preview(_ view.Screen, text string) (string, tea.Cmd) {
	if v.counted[text] {
		return "counted", nil
	}
	return "", view.Answer(v, func() any { return text })
}

// reads is a screen that has read a conversation.
func reads(t *testing.T) *Screen {
	return Script(t, "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n")
}

// A tour shows what a view does on each of its keys, in each of its rooms.
func TestTour(t *testing.T) {
	v := &fruit{counted: map[string]bool{}}
	got := reads(t).Tour(v)
	golden.Is(t, "testdata/tour.golden", got)
	if v.handled != 111 {
		t.Errorf("the commands came to %d", v.handled)
	}
}

// Rooms in which other words are shown are there, the widest, too, and each 24th.
func TestWidths(t *testing.T) {
	widths := func(draw func(w int) string) (out []string) {
		for l := range strings.Lines(reads(t).Widths(&drawn{draw: draw})) {
			out = append(out, strings.TrimSpace(l))
		}
		return out
	}
	got := widths(func(w int) string { return fmt.Sprint(w) })
	if len(got) != 2*(180-24+1) || got[1] != "p     24|" || got[len(got)-2] != "== 180 columns" || got[len(got)-1] != "p     180|" {
		t.Errorf("what is another in each room: %d lines, %q", len(got), got)
	}
	got = widths(func(w int) string { return "a" + strings.Repeat(" ", w) + "b" })
	if want := []string{"24", "48", "72", "96", "120", "144", "168"}; len(got) != 2*len(want) {
		t.Errorf("what is the same in each room but for spaces: %q", got)
	} else {
		for i, w := range want {
			if got[2*i] != "== "+w+" columns" {
				t.Errorf("%s, want %s", got[2*i], w)
			}
		}
	}
}

// drawn is one line that depends on the room.
type drawn struct {
	view.Plain
	draw func(w int) string
	rows int
}

func (v *drawn) Title() string     { return "drawn" }
func (v *drawn) Keys() []key.Offer { return nil }

func (v *drawn) Draw(_ view.Screen, w, _ int) []widget.Line {
	return slices.Repeat([]widget.Line{widget.Text(widget.Plain, v.draw(w))}, max(v.rows, 1))
}

// More rows than there is room for are told of.
func TestRoom(t *testing.T) {
	scr := reads(t)
	v := &drawn{draw: func(int) string { return "x" }, rows: 3}
	for h, want := range map[int]string{2: "3 rows in a room of 2\n", 3: "", 4: ""} {
		if got := scr.Frame(v, 10, h); got != want+"[]\n"+strings.Repeat("p     x\n", 3)+"[      ]\n" {
			t.Errorf("%d: %q", h, got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a table without columns takes the tour")
		}
	}()
	scr.Tour(&bare{v})
}

// bare is a table without columns.
type bare struct{ *drawn }

func (*bare) Columns(view.Screen) []chosen.Column        { return nil }
func (*bare) SortBy(view.Screen, string) (tea.Cmd, bool) { return nil, false }

func TestLooks(t *testing.T) {
	for want, l := range map[string]widget.Line{
		"      ": widget.Blank(),
		"p     ": widget.Spans(widget.In(widget.Plain, "a"), widget.In(widget.Plain, "b")),
		"a?    ": widget.Spans(widget.In(widget.Accent, "a"), widget.In(widget.Accent+1, "b")),
		"tm    ": widget.Spans(widget.In(widget.Title, "a"), widget.In(widget.Bad, "  "), widget.In(widget.Muted, "b")),
		">gwb  ": {Selected: true, Spans: []widget.Span{widget.In(widget.Good, "a"), widget.In(widget.Warned, "b"), widget.In(widget.Bad, "c")}},
	} {
		if got := Looks(&l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestChanged(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"a\nb\n", "a\nb\n", ""},
		{"a\nb\n", "a\nc\n", " 1: c\n"},
		{"a\n", "a\nb\nc\n", " 1: b\n 2: c\n3 lines\n"},
		{"a\nb\nc\n", "a\nc\n", " 1: c\n2 lines\n"},
		{"a\n", "a", " 0: a0 lines\n"},
		{"a", "a\n\n", " 0: a\n 1: \n2 lines\n"},
	} {
		if got := changed(c.before, c.after); got != c.want {
			t.Errorf("from %q to %q: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

// What cannot be asked is answered, and shows no rows.
func TestAsk(t *testing.T) {
	scr, v := reads(t), &fruit{}
	if got := scr.Ask(v, "a-b"); got != "== /a-b\nno such filter\n" {
		t.Errorf("%q", got)
	}
	if got := scr.Ask(v, "pl"); got != "== /pl\n[1 of 2]\n>pm   apple     #####\npm    plum      #####\n[g     ripe]\n" {
		t.Errorf("%q", got)
	}
}

// Conversations are read whole, and those that are not there, or cannot be read, fail the
// test. One that is live is known to nobody yet.
func TestSources(t *testing.T) {
	for name, scr := range map[string]*Screen{"a session": Session(t, root, "demo"), "a conversation": Told(t, root, "delta"), "a script": reads(t)} {
		if scr.log.Index.Generation() == 0 || len(scr.seen.Standing) == 0 {
			t.Errorf("%s is not read", name)
		}
		if live := scr.Live(t); !live.Log().Live || live.Log().Index.Generation() != 0 || len(live.Seen().Standing) != len(scr.seen.Standing) {
			t.Errorf("%s, while it is written: %+v", name, live.Seen())
		}
	}
	for want, helper := range map[string]func(testing.TB){
		"no such file": func(t testing.TB) { Told(t, root, "nobody") },
		"test:1:":      func(t testing.TB) { Script(t, "what is this\n") },
		"nobody.xdsp":  func(t testing.TB) { Session(t, root, "nobody") },
		"it is not there": func(t testing.TB) {
			New(t, source.Source{Open: func() (index.Reader, error) { return nil, errors.New("it is not there") }}).Read(t)
		},
	} {
		if got := verdict.Of(t, helper); !strings.HasPrefix(got, "fatal: ") || !strings.Contains(got, want) {
			t.Errorf("%q, want %s", got, want)
		}
	}
}

// What is recorded comes back, and its messages are those that were made by hand.
func TestRecord(t *testing.T) {
	src := Record(t, append(StreamBegins(), MessageEntry(session.Server, []byte("12345")))...)
	if src.Name != "made.xdsp" {
		t.Error(src.Name)
	}
	if facts, err := src.Facts(); err != nil || facts == (recorder.Facts{}) {
		t.Errorf("%+v, %v", facts, err)
	}
	r, err := src.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	for {
		e, err := r.Next(t.Context())
		if err != nil {
			break
		}
		got = append(got, fmt.Sprint(e.Conn, e.Stream, e.Kind))
		if e.Message != nil && (string(e.Message.Data.Bytes()) != "12345" || e.Message.Size != 5 || e.Side != session.Server) {
			t.Errorf("%+v", e.Message)
		}
	}
	if len(got) != 3 {
		t.Errorf("%q", got)
	}
	for _, n := range []int{0, 1, 127, 128, 129, 16383, 16384, 20000} {
		body := strings.Repeat("x", n)
		want := protowire.AppendString(protowire.AppendTag(nil, 4, protowire.BytesType), body)
		if !bytes.Equal(Field(4, body), want) {
			t.Errorf("a field of %d bytes begins with %x, want %x", n, Field(4, body)[:4], want[:4])
		}
	}
}

// Views lie on each other, and what leads out of one is said.
func TestScreen(t *testing.T) {
	scr := New(t, File(filepath.Join(t.TempDir(), "none")))
	if scr.Top() != nil {
		t.Error("something is open")
	}
	one, two := &fruit{}, &fruit{}
	scr.Push(one)
	scr.Push(two)
	if scr.Top() != view.View(two) || !scr.IsOpen(one) {
		t.Error("what was pushed last is not on top")
	}
	scr.Act(key.Open, view.Selection{})
	if !scr.IsOpen(two) {
		t.Error("another action closes it")
	}
	scr.Act(key.Close, view.Selection{Client: "n1"})
	if scr.Top() != view.View(one) || scr.IsOpen(two) {
		t.Error("it is not closed")
	}
	scr.Follow(7)
	scr.Complain(errors.New("no"))
	scr.Prompt(view.CommandPrompt, "x")
	scr.Narrow(view.RowFilter, []string{"a"}, true)
	scr.Timeline("cds", 3)
	for i, want := range []string{"act open: ", "act close: {Client:n1 ", "follow 7", "no", "ask 3: :x", `narrow 1, not=true: ["a"]`, "timeline from 3: cds"} {
		if !strings.HasPrefix(scr.Said[i], want) {
			t.Errorf("%q, want %q", scr.Said[i], want)
		}
	}
}
