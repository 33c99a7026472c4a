package playback

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/launch"
	"github.com/xdsproxy/xdsproxy/replay/shadow"
)

// following plays a side of a recording while that grows.
func (r *Replay) following(ctx context.Context, source string) error {
	r.source = source
	if err := r.foresee(ctx); err != nil {
		return err
	}
	defer r.dismiss()
	src, err := r.Open(r.source)
	if err != nil {
		return err
	}
	defer src.Close()
	if src.Script {
		return console.Misused("--follow needs a recording that is being written, and %q is a script", r.source)
	}
	src.Follow(true)
	src.Pieces()
	out := console.NewLazyWriter(r.Stdout)
	lines := shadowLines{}
	told := func(e shadow.Event) {
		if r.Output == "json" || lines.few(&e) {
			fmt.Fprint(out, shadowLine(e, r.Output == "json"))
		}
	}
	play := r.pushed
	if r.As == "client" {
		play = r.shadowed
	}
	sum, err := play(ctx, src, told)
	if sum != nil {
		told(shadow.Event{What: shadow.Summarized, Time: time.Now(), Text: sum.String(), Summary: sum})
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
		return err
	case r.fate != nil:
		return r.fate
	case sum.Different():
		return console.ErrDifferences
	case sum.Streams == 0 && r.As == "server":
		return console.Failed("nothing was played: no client came")
	case sum.Compared == 0 && r.As == "server":
		return console.Failed("nothing was compared: no client answered anything that a recorded one has answered")
	case sum.Compared == 0 && sum.Streams > 0 && r.As == "client":
		return console.Failed("nothing was compared: %s never gave what was asked", r.Target).Hint(checkTarget)
	case len(sum.Undecided) > 0:
		return console.Failed("not all was decided: %s did not answer in time, or the end came too soon", r.Target)
	case sum.Streams == 0 && ctx.Err() == nil:
		return console.Failed("nothing was asked: no stream of %q was open", r.source).
			Hint("without --follow, a recording that has ended is played from its beginning")
	}
	return nil
}

// foresee reads what there is of the recording, by which it becomes known what a
// client that is a command takes for granted.
func (r *Replay) foresee(ctx context.Context) error {
	if len(r.Commands) == 0 {
		return nil
	}
	r.argv = r.Commands[0]
	plan, _, err := r.plan(ctx)
	if err != nil {
		return err
	}
	defer plan.Close()
	if len(plan.Clients) == 0 {
		return console.Failed("no client has said anything in %q yet, so no bootstrap can be made for %s", r.source, console.ShellWord(r.argv[0]))
	}
	if err := r.known(plan); err != nil {
		return err
	}
	// Whoever has left gets no push any more.
	here := *plan
	here.Streams = slices.DeleteFunc(slices.Clone(plan.Streams), func(s *replay.Stream) bool { return s.End != nil })
	here.Clients = nil
	for _, s := range here.Streams {
		if !slices.Contains(here.Clients, s.Client) {
			here.Clients = append(here.Clients, s.Client)
		}
	}
	if len(here.Clients) == 0 && r.Client == "" {
		return console.Failed("no client is connected in %q now", r.source).Hint("without --follow, what is recorded is played from its beginning")
	}
	r.choose(&here)
	return nil
}

// pushed gives live clients what the recorded server says, as it says it.
func (r *Replay) pushed(ctx context.Context, src *input.Source, told func(shadow.Event)) (sum *shadow.Summary, err error) {
	_, err = r.relayed(ctx, nil, func(ctx context.Context, _ *replay.Plan, between *relay) (*replay.Report, error) {
		l, shown, err := r.bind(between)
		if err != nil {
			return nil, err
		}
		defer l.Close() // if it never came to be served
		if r.argv == nil {
			r.Tell("listening on %s, playing the server of %s", proxy.AddrOf(shown), r.source)
		}
		r.Announce()
		return r.beside(ctx, launched{server: shown}, func(ctx context.Context) (*replay.Report, error) {
			var err error
			if sum, err = shadow.Serve(ctx, l, src, shadow.ServeOptions{Client: cmp.Or(r.Client, r.Options.Client), Idle: r.Idle, Event: told, Leaving: between.shut}); err != nil && ctx.Err() == nil {
				err = input.Unreadable(err)
			}
			return nil, err
		})
	})
	return sum, err
}

// shadowed asks another control plane what the live clients ask.
func (r *Replay) shadowed(ctx context.Context, src *input.Source, told func(shadow.Event)) (*shadow.Summary, error) {
	dir, err := launch.PrivateDir()
	if err != nil {
		return nil, console.Failed("cannot make a directory for a socket: %w", err)
	}
	defer os.RemoveAll(dir)
	o := shadow.Options{Client: r.Client, Idle: r.Idle, Present: src.All().LastSeq, Event: told, Types: r.Types}
	target, done, err := r.reached(dir, "target", r.Target)
	if err != nil {
		return nil, err
	}
	defer done()
	o.Target = target
	if r.Noise != "" {
		second, done, err := r.reached(dir, "noise", r.Noise)
		if err != nil {
			return nil, err
		}
		defer done()
		o.Noise = &second
	}
	r.Tell("asking %s what the clients of %s ask", r.Target, r.source)
	r.Announce()
	sum, err := shadow.Run(ctx, src, o)
	if err != nil {
		err = input.Unreadable(err)
	}
	return sum, err
}

// reached is a control plane that is asked, through a proxy of its own where that
// speaks TLS or sets headers.
func (r *Replay) reached(dir, name, text string) (t shadow.Target, done func(), err error) {
	to, _ := proxy.ParseAddr(text) // it was checked
	t = shadow.Target{Name: text, Authority: to.Authority()}
	done = func() {}
	if r.Security.UpstreamTLS != nil || r.Security.Rewrite != nil {
		heard := &troubles{}
		inner := proxy.Addr{Network: "unix", Address: filepath.Join(dir, name+".sock")}
		if _, done, err = r.relay(inner, to, heard, zap.NewNop()); err != nil {
			return t, done, err
		}
		to = inner
		t.Why = func() string {
			if n := heard.why(); n != nil {
				return n.Text
			}
			return ""
		}
	}
	t.Dial = r.dialer(to)
	return t, done, nil
}

// shadowLines counts lines for differences of a kind: a few are shown.
type shadowLines map[string]int

const mostAlike = 5

// few says whether an event is shown to a person. The last of a kind says that
// the others are not.
func (s shadowLines) few(e *shadow.Event) bool {
	if e.Difference == nil {
		return true
	}
	kind := e.What + " " + e.Difference.Type + " " + e.Difference.Got
	s[kind]++
	if s[kind] == mostAlike+1 {
		e.What, e.Text, e.Difference = shadow.Noted, "more of "+e.Difference.Type+" like these: the sum has how many", nil
	}
	return s[kind] <= mostAlike+1
}

// shadowLine is an event as it is printed.
func shadowLine(e shadow.Event, object bool) string {
	if !object {
		return shadowText(e)
	}
	line, _ := json.Marshal(struct { // it holds nothing that cannot be encoded
		Schema string `json:"schema"`
		shadow.Event
	}{render.Schema, e})
	return string(render.EscapeJSON(line)) + "\n"
}

// shadowText is an event as a person reads it.
func shadowText(e shadow.Event) string {
	mark := "i"
	switch e.What {
	case shadow.Differs:
		mark = "!"
	case shadow.Trouble, shadow.Behind:
		mark = "~"
	}
	var b strings.Builder
	if e.What == shadow.Summarized {
		kinds := map[string]int{}
		for _, d := range e.Summary.Differences {
			kind := d.Type + ": " + d.Got
			if kinds[kind]++; kinds[kind] > mostAlike {
				continue
			}
			what, over := d.Type, ""
			if d.Name != "" {
				what += fmt.Sprintf(" %q", d.Name)
			}
			if d.Seq > 0 {
				what += fmt.Sprintf(" of entry %d", d.Seq)
			}
			if !d.Stands {
				over = ", and no more"
			}
			fmt.Fprintf(&b, "! %s: %s; since %s, on %s%s\n", render.Safe(what), render.Safe(d.Got),
				d.Since.Format("15:04:05.000"), render.Count(d.Streams, "stream", "streams"), over)
		}
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			if more := kinds[kind] - mostAlike; more > 0 {
				fmt.Fprintf(&b, "! and %d more of %s\n", more, render.Safe(kind))
			}
		}
		for _, text := range e.Summary.Undecided {
			b.WriteString("? " + render.Safe(text) + "\n")
		}
		return b.String() + e.Text + "\n"
	}
	fmt.Fprintf(&b, "%s %s %s\n", e.Time.Format("15:04:05.000"), mark, render.Safe(e.Text))
	if e.What == shadow.Differs {
		writeIndented(&b, e.Detail)
	}
	return b.String()
}
