package app

import (
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// hintKey is the field of a log line that says what may be done about it.
const hintKey = "hint"

// safeEncoder writes what peers chose so that no terminal obeys it. In the text
// form the hint of a line stands below it, where a person looks for it.
type safeEncoder struct {
	zapcore.Encoder
	text bool
}

// Clone is called by zap for a logger with fields of its own.
func (e safeEncoder) Clone() zapcore.Encoder { return safeEncoder{e.Encoder.Clone(), e.text} }

// EncodeEntry writes one line, and in the text form a second one for a hint.
func (e safeEncoder) EncodeEntry(entry zapcore.Entry, fields []zap.Field) (*buffer.Buffer, error) {
	hint := ""
	if e.text {
		entry.Message = render.Safe(entry.Message)
		i := slices.IndexFunc(fields, func(f zap.Field) bool { return f.Key == hintKey && f.Type == zapcore.StringType })
		if i >= 0 {
			hint, fields = fields[i].String, slices.Delete(slices.Clone(fields), i, i+1)
		}
	}
	line, err := e.Encoder.EncodeEntry(entry, fields)
	if err != nil {
		return nil, err
	}
	// In the text form, too, fields are JSON.
	safe := render.EscapeJSON(line.Bytes())
	if len(safe) != line.Len() {
		line.Reset()
		line.AppendBytes(safe)
	}
	if hint != "" {
		line.AppendString("xdsproxy: hint: " + render.Safe(hint) + "\n")
	}
	return line, nil
}
