package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// What --log-level and --log-format take.
var (
	logLevels  = []string{"debug", "info", "warning", "error"}
	logFormats = []string{"text", "json"}
)

var zapLevels = []zapcore.Level{zapcore.DebugLevel, zapcore.InfoLevel, zapcore.WarnLevel, zapcore.ErrorLevel}

// logger writes to stderr what happens beside a command's result (cli.md 18). It never
// gets the value of an input.
type logger struct {
	*zap.Logger
	w io.Writer
}

// newLogger is silent until it is configured.
func newLogger(w io.Writer) *logger { return &logger{Logger: zap.NewNop(), w: w} }

// configure sets what is logged from now on; source is where the level came from.
func (l *logger) configure(level, source, format string) error {
	if level == "" && source == envLogLevel {
		level = "warning"
	}
	at := slices.Index(logLevels, strings.ToLower(level))
	if at < 0 {
		return notOneOf(source, level, logLevels)
	}
	encoder := zapcore.EncoderConfig{
		LevelKey: "level", NameKey: "logger", MessageKey: "message",
		LineEnding: zapcore.DefaultLineEnding, EncodeDuration: zapcore.StringDurationEncoder,
	}
	var encode zapcore.Encoder
	switch strings.ToLower(format) {
	case "text":
		encoder.EncodeLevel, encoder.EncodeName, encoder.ConsoleSeparator = paddedLevel, nameAndColon, " "
		encode = zapcore.NewConsoleEncoder(encoder)
	case "json":
		encoder.EncodeLevel, encoder.TimeKey, encoder.EncodeTime = lowerLevel, "ts", zapcore.RFC3339NanoTimeEncoder
		encode = zapcore.NewJSONEncoder(encoder)
	default:
		return notOneOf("--log-format", format, logFormats)
	}
	l.Logger = zap.New(zapcore.NewCore(encode, zapcore.Lock(zapcore.AddSync(l.w)), zapLevels[at])).Named("atlantide")
	return nil
}

func levelName(level zapcore.Level) string {
	if at := slices.Index(zapLevels, level); at >= 0 {
		return logLevels[at]
	}
	return level.String()
}

func lowerLevel(level zapcore.Level, to zapcore.PrimitiveArrayEncoder) {
	to.AppendString(levelName(level))
}

func paddedLevel(level zapcore.Level, to zapcore.PrimitiveArrayEncoder) {
	to.AppendString(fmt.Sprintf("%-7s", strings.ToUpper(levelName(level))))
}

func nameAndColon(name string, to zapcore.PrimitiveArrayEncoder) { to.AppendString(name + ":") }

// notOneOf refuses the value of an option.
func notOneOf(option, value string, allowed []string) error {
	return model.Errorf(model.AtlantideError, model.ClassUser, "%s '%s' is not one of: %s", option, sourcetree.Shown(value), strings.Join(allowed, ", "))
}
