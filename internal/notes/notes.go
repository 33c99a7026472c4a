// Package notes is what people marked in a recording and wrote about it, in a file
// of text beside it. It reads no recording, and overwrites no file that it does
// not understand.
//
// The file of session.xdsp is session.xdsp.notes:
//
//	xdsproxy notes 1
//	recording 2026-11-23T19:42:21.123456789Z
//
//	# a comment
//	17 *
//	19 * this one breaks it
//	23 - why so late?
//
// The first line says what it is. The second says of which recording: when that
// began, as its header has it; it is left out of notes on what has no header. A
// line for each entry follows: its number, * if it is marked or - if it is not,
// and what was written about it. What such a line says counts, whatever the
// recording itself says about the entry. Empty lines and comments are free; they
// and lines that make no sense, a second one on an entry among them, are kept at
// the end when the file is written again.
package notes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	title = "xdsproxy notes 1"
	of    = "recording "

	// MaxEntries bounds the entries that a file has notes on, maxText what is
	// written about one, and maxFile all of it.
	MaxEntries = 1 << 16
	maxText    = 4 << 10
	maxFile    = 8 << 20
	maxLoose   = 1 << 12 // lines that are no notes
)

// Note is what stands beside an entry.
type Note struct {
	Marked bool
	Text   string
}

// Notes are those of one recording.
type Notes struct {
	Began   time.Time // of the recording; zero if that is not said
	Entries map[session.Seq]Note
	loose   []string // lines that are no notes, as they are
	// Odd are the numbers of lines that make no sense.
	Odd []int
}

// New is notes on nothing yet.
func New(began time.Time) *Notes {
	return &Notes{Began: began, Entries: make(map[session.Seq]Note)}
}

// parse reads the text of a file. An error says why it is none of ours.
func parse(text string) (*Notes, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	n := New(time.Time{})
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		switch when, says := strings.CutPrefix(line, of); {
		case number == 1:
			if strings.TrimRight(line, " ") != title {
				return nil, fmt.Errorf("its first line is not %q", title)
			}
		case number == 2 && says:
			at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(when))
			if err != nil {
				return nil, fmt.Errorf("its second line does not say of which recording it is")
			}
			n.Began = at
		default:
			if err := n.line(line, number); err != nil {
				return nil, err
			}
		}
	}
	if number == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	return n, nil
}

// line takes one line behind the head.
func (n *Notes) line(line string, number int) error {
	seq, note, is := entry(line)
	if _, twice := n.Entries[seq]; is && !twice {
		n.Entries[seq] = note
		if len(n.Entries) > MaxEntries {
			return fmt.Errorf("it has notes on more than %d entries", MaxEntries)
		}
		return nil
	}
	blank := strings.TrimSpace(line) == ""
	if !blank && !strings.HasPrefix(line, "#") {
		n.Odd = append(n.Odd, number)
	}
	if blank && len(n.loose) == 0 || line == comment {
		return nil // format writes them
	}
	if n.loose = append(n.loose, line); len(n.loose) > maxLoose {
		return fmt.Errorf("it has more than %d lines that are no notes", maxLoose)
	}
	return nil
}

// entry reads the line of an entry.
func entry(line string) (session.Seq, Note, bool) {
	number, rest, _ := strings.Cut(line, " ")
	sign, text, _ := strings.Cut(rest, " ")
	seq, err := strconv.ParseUint(number, 10, 64)
	if err != nil || seq == 0 || sign != "*" && sign != "-" || len(text) > maxText {
		return 0, Note{}, false
	}
	return session.Seq(seq), Note{sign == "*", Clean(text)}, true
}

// Clean is a text as it can stand in a line: valid, in one line, bounded.
func Clean(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' { // those of C1, too: a terminal may obey them
			return ' '
		}
		return r
	}, text)
	return strings.TrimSpace(text)
}

const comment = "# number of the entry, * if it is marked or - if not, what was written; lines with # are yours"

// format is the text of a file.
func (n *Notes) format() string {
	var b strings.Builder
	b.WriteString(title + "\n")
	if !n.Began.IsZero() {
		b.WriteString(of + n.Began.UTC().Format(time.RFC3339Nano) + "\n")
	}
	b.WriteString("\n" + comment + "\n")
	for _, seq := range slices.Sorted(maps.Keys(n.Entries)) {
		note, sign := n.Entries[seq], "-"
		if note.Marked {
			sign = "*"
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%d %s %s", seq, sign, note.Text), " ") + "\n")
	}
	for _, l := range n.loose {
		b.WriteString(l + "\n")
	}
	return b.String()
}

// Said takes what a note of a recording says, unless there are too many.
func (n *Notes) Said(note *session.Note) {
	if note == nil || note.About == 0 {
		return
	}
	is, known := n.Entries[note.About]
	switch note.Code {
	case session.NoteMark:
		is.Marked = true
	case session.NoteUnmark:
		is.Marked = false
	case session.NoteRemark:
		is.Text = Clean(note.Text)
	default:
		return
	}
	if known || len(n.Entries) < MaxEntries {
		n.Entries[note.About] = is
	}
}

// Over is what stands beside entries when a file was read over what a recording
// says. Entries with neither a mark nor a text are not among it.
func (n *Notes) Over(said *Notes) map[session.Seq]Note {
	out := maps.Clone(said.Entries)
	maps.Copy(out, n.Entries)
	maps.DeleteFunc(out, func(_ session.Seq, n Note) bool { return n == Note{} })
	return out
}

// Of is what stands beside an entry. There may be no Notes at all.
func (n *Notes) Of(seq session.Seq) (marked bool, text string) {
	if n == nil {
		return false, ""
	}
	return n.Entries[seq].Marked, n.Entries[seq].Text
}
