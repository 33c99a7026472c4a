package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
)

func (x *Export) repair(ctx context.Context, from, to string) error {
	var read int64
	var copied uint64
	line := x.Progress("rescuing", from, func() (int64, uint64) { return read, copied })
	done, err := recorder.Salvage(ctx, from, to, func(n int64, entries uint64) {
		read, copied = n, entries
		line.Advance()
	})
	line.End()
	switch {
	case errors.Is(err, fs.ErrExist):
		return console.Failed("%w", err).Hint("nothing is overwritten; name another file with -w FILE, or remove this one")
	case err != nil:
		return input.Unreadable(err)
	case done.Entries == 0:
		f := console.Failed("nothing could be rescued of %q: it holds no entry that can be read", from)
		if older := olderSegments(from); older != "" {
			f = f.Hint("%s", older)
		}
		if done.Damages > 0 {
			f.Code = console.ExitDamaged
		}
		if err := os.Remove(to); err != nil {
			return console.Failed("%w", err)
		}
		return f
	}
	x.Say("rescued %s into %s", render.Count(done.Entries, "entry", "entries"), to)
	if done.Partial > 0 {
		x.Say("of them, %s had lost a part", render.Count(done.Partial, "message", "messages"))
	}
	switch {
	case done.Damages == 0:
		x.Say("nothing is missing: no damage was found")
	case done.Lost == 0 && done.Headless && done.Damages == 1:
		x.Say("no entry is missing: only the header was damaged")
	default:
		x.Say("lost %s or more, %s in %s", render.Count(done.Lost, "entry", "entries"), render.Size(done.Bytes),
			render.Count(done.Damages, "damaged place", "damaged places"))
	}
	if done.Headless {
		x.Say("its header is lost, and with it what wrote the recording and when, whether secrets in it are masked, and descriptors that it may have had")
	}
	x.Say("read it with: xdsproxy watch %s", console.ShellWord(to))
	if older := olderSegments(from); older != "" {
		x.Say("%s", older)
	}
	return nil
}

// olderSegments says what else there is of a recording whose newest segment is given. That
// one may hold nothing: it is begun as soon as the one before it is full.
func olderSegments(newest string) string {
	older, _ := filepath.Glob(strings.TrimSuffix(newest, ".xdsp") + ".[0-9][0-9][0-9][0-9][0-9][0-9].xdsp") // a strange name has none
	if len(older) == 0 {
		return ""
	}
	return "the recording has older segments, which are rescued one by one: " + strings.Join(older, ", ")
}
