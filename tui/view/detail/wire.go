package detail

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// mostLines bounds the lines of a text; those of a large message are fewLines.
const (
	mostLines    = 200_000
	largeMessage = 1 << 20
)

// wireLines are the fields of a message with their offsets, and its bytes.
func wireLines(fields []document.WireField, data []byte, most int) (out []widget.TextLine, more int) {
	for i := range fields {
		out = append(out, wireLine(&fields[i]))
	}
	if len(fields) > 0 {
		out = append(out, widget.TextLine{})
	}
	rows := (len(data) + 15) / 16
	shown := min(rows, max(most-len(out), most/2))
	for n := range shown {
		out = append(out, hexLine(n*16, data[n*16:min(n*16+16, len(data))]))
	}
	return out, rows - shown
}

func wireLine(f *document.WireField) widget.TextLine {
	t := widget.TextLine{Level: f.Depth + 1, Name: f.Name, Value: f.Value}
	t.Add(widget.Muted, fmt.Sprintf("%08x %6d  ", f.At, f.Size))
	name := f.Name
	if name == "" {
		name = "?"
	}
	t.Add(widget.Plain, widget.Spaces(2*f.Depth)+strconv.Itoa(f.Number)+" ")
	t.Add(widget.Accent, name)
	t.Add(widget.Muted, " "+f.Wire)
	switch {
	case f.Holds != "":
		t.Add(widget.Muted, "  "+f.Holds)
		if f.Value != "" {
			t.Add(widget.Plain, "  "+f.Value)
		}
	case f.Value != "":
		t.Add(widget.Plain, "  "+f.Value)
	}
	return t
}

func hexLine(at int, b []byte) widget.TextLine {
	t := widget.TextLine{Level: 1}
	t.Add(widget.Muted, fmt.Sprintf("%08x  ", at))
	var hex, chars strings.Builder
	for i := range 16 {
		if i == 8 {
			hex.WriteByte(' ')
		}
		if i >= len(b) {
			hex.WriteString("   ")
			continue
		}
		fmt.Fprintf(&hex, "%02x ", b[i])
		if b[i] >= ' ' && b[i] < 0x7f {
			chars.WriteByte(b[i])
		} else {
			chars.WriteByte('.')
		}
	}
	t.Add(widget.Plain, hex.String()+" ")
	t.Add(widget.Muted, "|"+chars.String()+"|")
	t.Value, t.Name = fmt.Sprintf("%x", b), fmt.Sprintf("byte %d and on", at)
	return t
}

// moreLine says that not everything is shown.
func moreLine(more int) widget.TextLine {
	return widget.Heading(widget.Warned, fmt.Sprintf("... %s are not shown: o opens all of it in the pager", render.Count(more, "more line", "more lines")))
}
