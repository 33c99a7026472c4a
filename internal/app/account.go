package app

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Account is what is said of a recording at its end: where it is, what is in
// it, how to read it.
func (r *Recording) Account(con *console.Console) {
	s := r.Stats()
	gaps := "no gaps"
	if s.Gaps > 0 {
		gaps = render.Count(s.Gaps, "gap", "gaps") + " with " + render.Count(s.Lost, "entry", "entries") + " lost"
	}
	if r.Path() == "" {
		con.Say("kept %s in memory, and wrote no file", render.Size(s.Bytes))
	} else {
		for _, l := range r.losses {
			con.Say("lost %s: it %s at %s, with %s that no other file has", l.Path, l.Why, l.At.Format(time.TimeOnly),
				render.Count(l.Entries, "entry", "entries"))
		}
		if f, err := recorder.Inspect(r.Path()); err != nil && f.Entries == 0 {
			con.Say("nothing is left of what was recorded since: %v", err)
			return
		} else if err != nil {
			con.Say("not all of what was recorded since can be read: %v", err)
		}
		con.Say("recorded %s, %s", r.Path(), render.Size(s.Bytes))
	}
	messages := render.Count(s.Messages, "message", "messages")
	if len(r.losses) > 0 {
		messages = render.Number(r.Facts().Messages) + " of " + messages
	}
	where := "on " + render.Count(r.Conns, "connection", "connections")
	if r.files > 0 {
		if where = "of " + render.Count(r.files, "file", "files"); r.Conns > 0 {
			where = "on " + render.Count(r.Conns, "connection", "connections") + " and " + where
		}
	}
	con.Say("%s %s, %s", messages, where, gaps)
	if r.Path() != "" {
		con.Say("read it with: xdsproxy watch %s", console.ShellWord(r.Path()))
		if r.wrong.Load() {
			con.Say("what went wrong in it: xdsproxy check %s", console.ShellWord(r.Path()))
		}
	}
}
