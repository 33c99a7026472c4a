package main

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

// logger is the program's own log on standard error. It never carries the
// content of messages. Where a person watches the entries on the same screen,
// which tell the same, it has errors only.
func (a *app) logger(watched bool) *zap.Logger {
	level := zapcore.InfoLevel
	switch {
	case bool(a.config.Verbose):
		level = zapcore.DebugLevel
	case bool(a.config.Quiet), watched && console.IsTerminal(a.stderr):
		level = zapcore.ErrorLevel
	}
	keys := zap.NewProductionEncoderConfig()
	keys.TimeKey, keys.MessageKey = "time", "message"
	keys.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	keys.EncodeDuration = zapcore.StringDurationEncoder
	encoder := safeEncoder{Encoder: zapcore.NewJSONEncoder(keys)}
	if a.config.LogFormat == "text" {
		keys.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		keys.ConsoleSeparator = " "
		encoder = safeEncoder{Encoder: zapcore.NewConsoleEncoder(keys), text: true}
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(a.stderr)), level))
}
