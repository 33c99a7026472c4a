package tui

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

func TestMarks(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want []string
		not  []string
	}{
		{"says once that they go with the screen", []string{"m"}, []string{"> *     1", "marked 1", "only until you leave"}, nil},
		{"and not again", []string{"m", "down", "m"}, []string{"marked 2"}, []string{"only until"}},
		{"is taken away", []string{"m", "m"}, []string{"the mark of 1 is gone", ">       1"}, []string{"*     1"}},
		{"next", []string{"down", "m", "down", "down", "m", "g", "'"}, []string{"> *     2", "  *     5"}, nil},
		{"next, round", []string{"down", "m", "down", "down", "m", "'"}, []string{"> *     2", "from the first mark again"}, nil},
		{"the only one", []string{"m", "'"}, []string{"this is the only mark"}, nil},
		{"none", []string{"'"}, []string{"nothing is marked yet"}, nil},
		{"none to show alone", []string{"M"}, []string{"nothing is marked yet"}, []string{"marked:yes"}},
		{"alone", []string{"m", "down", "down", "m", "M"}, []string{"filter: marked:yes", "2 of 2"}, []string{"        2 "}},
		{"alone, and one less", []string{"m", "down", "down", "m", "M", "m"}, []string{"1 of 1", "> *     1"}, nil},
		{"with others again", []string{"m", "M", "M"}, []string{"filter: none", "1 of 23"}, nil},
		{"beside another filter", []string{"/", "d", "i", "r", ":", "r", "e", "q", "enter", "m", "M"}, []string{"filter: dir:req marked:yes", "1 of 1"}, nil},
		{"a note", []string{"down", ";", "w", "h", "y", "enter"}, []string{"wrote beside 2"}, nil},
		{"no note", []string{";", "enter"}, nil, []string{"wrote", "gone"}},
		{"a note that is taken away", []string{";", "a", "enter", ";", "backspace", "enter"}, []string{"the note beside 1 is gone"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
			d.press(c.keys...)
			shows(t, d, c.want...)
			hides(t, d, c.not...)
		})
	}
}

// A note stands on the message line of its entry, before what rules found, and
// in the summary where there is one.
func TestRemarkIsShown(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 160, 50, Options{Theme: "mono", Now: func() time.Time { return at }})
	d.typed("17")
	d.press("g", ":", "1", "7", "enter", ";")
	d.typed("the bad one")
	d.press("enter")
	at = at.Add(time.Minute)
	shows(t, d, " ; the bad one   nack-received", "  ; the bad one  ")
	d.press(";")
	shows(t, d, ";the bad one") // it can be changed
}

// What was marked in a log that is ours is in the recording.
func TestMarksAreKeptInTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marks.xdsp")
	log, err := recorder.Create(path, recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		log.Append(session.Entry{Conn: 1, Stream: 1, Side: session.Client, Kind: session.KindHalfClose})
	}
	src := Source{
		Name: "live", Live: true, Open: func() (Reader, error) { return log.Reader() },
		Annotate: func(n session.Note) {
			log.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &n})
		},
	}
	m := newModel(t.Context(), src, Options{Theme: "mono"})
	d := &driver{t, m}
	d.give(tea.WindowSizeMsg{Width: 80, Height: 24})
	m.marks.Keep(session.Note{Code: session.NoteMark, About: 1})
	m.mark(2)
	m.mark(3)
	m.mark(3)
	m.marks.Keep(session.Note{Code: session.NoteRemark, Text: "odd\x1b[31m", About: 4})
	if aside := m.marks.Aside(); aside != "" {
		t.Error("it says that marks go with the screen:", aside)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	m.log.Fetch.Close()

	d = drive(t, fileSource(path), 80, 24, Options{Theme: "mono"})
	if got := d.m.log.Index.Marks(); !slices.Equal(got, []session.Seq{1, 2}) {
		t.Errorf("the recording has the marks %v", got)
	}
	d.press(":", "4", "enter")
	shows(t, d, `; odd\x1b[31m`, "  *     1", "  *     2", "        3")
}

// However many notes a recording has, what is kept of them is bounded.
func TestMarksAreBounded(t *testing.T) {
	x := index.New()
	full := 0
	for i := range 1<<16 + 10 {
		if !x.Annotate(&session.Note{Code: session.NoteMark, About: session.Seq(i + 1)}) {
			full++
		}
	}
	if n := len(x.Marks()); n != 1<<16 || full != 10 {
		t.Errorf("%d marks are kept, %d refused", n, full)
	}
	full = 0
	for i := range 1<<12 + 10 {
		if !x.Annotate(&session.Note{Code: session.NoteRemark, Text: "x", About: session.Seq(i + 1)}) {
			full++
		}
	}
	if full != 10 {
		t.Errorf("%d remarks are refused", full)
	}
	if !x.Annotate(&session.Note{Code: session.NoteRemark, About: 1}) || x.Remark(1) != "" {
		t.Error("a remark cannot be taken away when there are many")
	}
}
