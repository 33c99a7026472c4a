package main

import (
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// hintKey is the field of a log line that says what may be done about it.
const hintKey = "hint"

// hintEncoder writes the hint of a line below it, where a person looks for it.
type hintEncoder struct{ zapcore.Encoder }

// Clone is called by zap for a logger with fields of its own.
func (e hintEncoder) Clone() zapcore.Encoder { return hintEncoder{e.Encoder.Clone()} }

// EncodeEntry writes one line, and a second one for a hint.
func (e hintEncoder) EncodeEntry(entry zapcore.Entry, fields []zap.Field) (*buffer.Buffer, error) {
	i := slices.IndexFunc(fields, func(f zap.Field) bool { return f.Key == hintKey && f.Type == zapcore.StringType })
	entry.Message = render.Safe(entry.Message)
	if i < 0 {
		return e.Encoder.EncodeEntry(entry, fields)
	}
	line, err := e.Encoder.EncodeEntry(entry, slices.Delete(slices.Clone(fields), i, i+1))
	if err == nil && fields[i].String != "" {
		line.AppendString("xdsproxy: hint: " + render.Safe(fields[i].String) + "\n")
	}
	return line, err
}
