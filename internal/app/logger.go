package app

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// NewLogger is the program's own log on standard error. It never carries the
// content of messages. Where a person watches the entries on the same screen,
// which tell the same, it has errors only.
func NewLogger(con *console.Console, set *settings.Settings, watched bool) *zap.Logger {
	level := zapcore.InfoLevel
	switch {
	case bool(set.Verbose):
		level = zapcore.DebugLevel
	case bool(set.Quiet), watched && console.IsTerminal(con.Stderr):
		level = zapcore.ErrorLevel
	}
	keys := zap.NewProductionEncoderConfig()
	keys.TimeKey, keys.MessageKey = "time", "message"
	keys.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	keys.EncodeDuration = zapcore.StringDurationEncoder
	encoder := safeEncoder{Encoder: zapcore.NewJSONEncoder(keys)}
	if set.LogFormat == "text" {
		keys.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		keys.ConsoleSeparator = " "
		encoder = safeEncoder{Encoder: zapcore.NewConsoleEncoder(keys), text: true}
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(con.Stderr)), level))
}
