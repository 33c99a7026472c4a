package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// MaxAnswer is how many bytes an answer has at most, as it is sent: its text, the
// same as structured content, and what the protocol puts around them.
const MaxAnswer = 16 << 10

const (
	// envelope is left for what the protocol puts around an answer.
	envelope = 768
	// room is what is left for the answer, by weight.
	room = MaxAnswer - envelope
	// maxNotes bounds what is said beside an answer, by weight.
	maxNotes = 3 << 10
	// maxPlace bounds names and paths beside an answer, by weight.
	maxPlace = 1 << 10
)

// answered is the answer to a call, and a page of what the tool printed.
type answered struct {
	// Recording is what was read.
	Recording string `json:"recording"`
	// Notes are what is to be said beside it.
	Notes []string `json:"notes,omitempty"`
	// BeginsAt is the place in the whole answer at which a page begins that is not
	// the first. RestOf says that it is within a text, which the page goes on with.
	BeginsAt string `json:"begins_at,omitempty"`
	RestOf   bool   `json:"rest_of_text,omitempty"`
	// AnswerAt is the place that the page is of; without it, it is the whole.
	AnswerAt string `json:"answer_at,omitempty"`
	// Cursor is where it goes on; there is none if this is the end.
	Cursor string `json:"cursor,omitempty"`
	// Answer is the same as what the command prints, as far as it is on the page.
	Answer json.RawMessage `json:"answer"`
}

func answerSchema() map[string]any {
	about := func(typ, text string) map[string]any { return map[string]any{"type": typ, "description": text} }
	return map[string]any{
		"type": "object",
		"properties": map[string]any{
			"recording":    about("string", "What was read."),
			"notes":        map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "What is to be said beside it."},
			"begins_at":    about("string", "Where in the whole answer this page begins, if it is not the first."),
			"rest_of_text": about("boolean", "The page begins within the text at begins_at."),
			"answer_at":    about("string", "The place in the whole answer that this page shows, if it lies deep."),
			"cursor":       about("string", "To go on: call again with the same arguments and this."),
			"answer":       map[string]any{"description": "What the command of xdsproxy prints for machines, as far as it is on this page."},
		},
		"required": []string{"recording", "answer"},
	}
}

// call is one that is being answered.
type call struct {
	*Server
	ctx       context.Context
	tool      *Tool
	args      *Args
	name      string // of the recording
	recording mark
	asked     mark
	notes     bytes.Buffer
}

// answer answers a call to a tool.
func (s *Server) answer(ctx context.Context, t *Tool, raw json.RawMessage) (json.RawMessage, error) {
	args, text, err := t.parseArgs(raw)
	if err != nil {
		return nil, err
	}
	c := &call{Server: s, ctx: ctx, tool: t, args: args, asked: markOf([]byte(t.Name), args.canonical())}
	var from *cursor
	if text != "" {
		parsed, err := parseCursor(text)
		if err != nil {
			return nil, refused(err.Error())
		}
		if from = &parsed; from.asked != c.asked {
			return nil, console.Misused("the cursor is of another call").Hint("give it with the tool and the arguments of the answer that it is from")
		}
	}
	name, identity, err := s.Recording(ctx, &c.notes)
	if err != nil {
		return nil, err
	}
	c.name, c.recording = name, markOf(identity)
	if from != nil && from.recording != c.recording {
		return nil, refused("the cursor is of another recording")
	}
	if t.Lines {
		return c.lines(from)
	}
	return c.document(from)
}

func refused(why string) error {
	return console.Misused("%s", why).Hint("call the tool without a cursor to begin anew")
}

// frame makes an answer of a page and what stands beside it. Without a page it
// weighs what is beside one.
func (c *call) frame(p *part, at []level, from position, next *cursor) json.RawMessage {
	a := answered{Recording: cut(c.name, maxPlace), Notes: c.said(), Answer: json.RawMessage("0")}
	if p != nil {
		if len(at) > 0 {
			a.BeginsAt, a.AnswerAt = cut(pathOf(at), maxPlace), cut(pathOf(at[:p.under]), maxPlace)
		}
		if a.RestOf = from.in > 0; p.cut > 0 {
			a.Notes = append(a.Notes, cutNote)
		}
		if next != nil {
			a.Cursor = next.String()
		}
		a.Answer = p.text
	}
	text, _ := render.JSONLine(a) // it can be written: all of it is text, or was JSON
	return bytes.TrimSuffix(text, []byte("\n"))
}

const cutNote = "names and numbers that are too long for a page are cut, with an ellipsis"

// space is what a page may weigh beside all the rest.
func (c *call) space() int {
	// A place is not known yet, nor a cursor.
	return room - weigh(c.frame(nil, nil, position{}, nil)) - 2*maxPlace - weigh([]byte(cutNote)) - 4*mostBytes - 200
}

// said are the lines beside the answer, each once.
func (c *call) said() (out []string) {
	left, seen := maxNotes, map[string]bool{}
	for line := range strings.Lines(c.notes.String()) {
		line = strings.TrimSpace(line)
		if line == "" || seen[line] {
			continue
		}
		seen[line] = true
		line = cut(line, min(left, 1<<10))
		if left -= weigh([]byte(line)) + 8; left < 100 {
			return append(out, "and more")
		}
		out = append(out, line)
	}
	return out
}

// cut shortens a text to a weight.
func cut(s string, most int) string {
	for i, r := range s {
		n := 0
		for _, b := range []byte(string(r)) {
			n += weight(b)
		}
		if r < ' ' {
			n = 14
		}
		if most -= n; most < 8 {
			return s[:i] + "…"
		}
	}
	return s
}

// sentence is an error as an assistant reads it: what failed, and what may help.
func sentence(err error) string {
	f, is := errors.AsType[*console.Failure](err)
	if !is {
		f = &console.Failure{Err: err}
	}
	text := render.Safe(cut(f.Err.Error(), room/4))
	for _, h := range f.Hints[:min(len(f.Hints), 6)] {
		text += "\nhint: " + render.Safe(cut(h, room/12))
	}
	return text
}
