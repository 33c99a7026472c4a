package playback

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/replay/launch"
	"github.com/xdsproxy/xdsproxy/replay/premise"
	"github.com/xdsproxy/xdsproxy/replay/server"
	"github.com/xdsproxy/xdsproxy/session"
)

// commanded is what a replay has with commands for the live side.
type commanded struct {
	argv     []string // the one at hand; nil: the live side is started by somebody else
	several  bool     // plays, so that none is told step by step
	observer *premise.Observer

	child *launch.Child // the command while it runs: until dismiss, which is after the play
	dir   string        // with its bootstrap
	// admin is where the Envoy that runs beside the play answers, until dismiss, at
	// port 0 where nobody needs to know it; "" if there is none.
	admin string
	fate  error // why the command was not played with
	// wanting is what its bootstrap lacks.
	wanting  []string
	unfilled string // a hint on a command that has no place for a bootstrap
}

// observed is a reading of the recording by which it becomes known what a client
// takes for granted, if one is to be run.
func (r *Replay) observed(src replay.Source) replay.Source {
	if r.argv == nil || r.As != "server" {
		return src
	}
	r.observer = premise.Observe(src)
	return r.observer
}

// choose names the client that is played with a command, which is but one: the
// first to which something was said.
func (r *Replay) choose(plan *replay.Plan) {
	r.Options.Client = r.Client
	defer r.patience(plan)
	if r.observer == nil || r.Client != "" || len(plan.Clients) == 0 {
		return
	}
	r.Options.Client = plan.Clients[0]
	if len(plan.Clients) == 1 {
		return
	}
	first := session.Seq(0) // stream, or poll
	for _, s := range plan.Streams {
		if slices.ContainsFunc(s.Topics, func(t *replay.Topic) bool { return len(t.Responses) > 0 }) {
			r.Options.Client, first = s.Client, s.Opened
			break
		}
	}
	for _, p := range plan.Pollings {
		if slices.ContainsFunc(p.Turns, func(t replay.Turn) bool { return t.Reply.News }) {
			if first == 0 || p.Opened < first {
				r.Options.Client = p.Client
			}
			break
		}
	}
	r.Say("playing client %q, the first of %d that was sent something; --client ID names another", r.Options.Client, len(plan.Clients))
}

// launched is what a command is run beside: a server that it is to ask, or
// clients that ask it.
type launched struct {
	server net.Addr
	target dialing
}

// beside plays while the command runs, if there is one.
func (r *Replay) beside(ctx context.Context, with launched, play func(context.Context) (*replay.Report, error)) (*replay.Report, error) {
	if r.argv == nil {
		return play(ctx)
	}
	r.Say("playing %s with %s", r.source, console.Command(r.argv))
	argv, env := r.argv, []string(nil)
	if with.server != nil {
		var err error
		if argv, env, err = r.asked(with.server); err != nil {
			return nil, err
		}
	} else if conn, err := with.target(ctx); err == nil {
		_ = conn.Close()
		return nil, console.Failed("somebody listens on %s already, and would be taken for the command", r.Target)
	}
	child, err := launch.Start(argv, env)
	if err != nil {
		return nil, console.NotRunnable(argv[0], err)
	}
	r.child = child
	r.Options.Anew = child.Again
	wait := server.FirstClient * r.Options.Idle
	if with.target != nil && !child.Await(ctx, with.target, wait) && ctx.Err() == nil {
		return nil, r.fateOf(child, fmt.Sprintf("does not listen on %s within %s", r.Target, wait))
	}
	during, stop := child.During(ctx)
	defer stop()
	report, err := play(during)
	ended := child.Ended() || report != nil && report.Differs() && child.Ending() // which may be why
	if ended && errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = nil
	}
	if report != nil {
		report.Notes = append(report.Notes, r.wanting...)
	}
	switch {
	case err == nil && report == nil && ended:
		r.fate = r.fateOf(child, "")
	case err != nil || report == nil:
	case report.Streams == 0 && (ended || report.TurnedAway == "" && with.server != nil):
		r.fate = r.fateOf(child, fmt.Sprintf("did not connect within %s", wait))
	case ended:
		report.Notes = append(report.Notes, "the command ended while it was played with: "+strings.Join(append([]string{child.Fate()}, child.LastWords()...), "; "))
	}
	return report, err
}

// dismiss ends the command.
func (r *Replay) dismiss() {
	if r.child != nil {
		r.child.End()
	}
	if r.dir != "" {
		_ = os.RemoveAll(r.dir)
	}
	r.child, r.dir, r.admin = nil, "", ""
}

// asked is how the command is run as a client of server.
func (r *Replay) asked(server net.Addr) (argv, env []string, err error) {
	of, v2 := r.observer.Client(r.Options.Client)
	if v2 {
		return nil, nil, console.Failed("%s was recorded with xDS v2, which no bootstrap asks for any more", r.source)
	}
	// A port that was free may be taken before the command binds it, so one is
	// chosen here only if it has to be known.
	r.admin = "127.0.0.1:0"
	if r.CompareDump == OwnAdmin {
		if r.admin, err = launch.FreePort(); err != nil {
			return nil, nil, console.Failed("no free port for the admin interface of the client: %w", err)
		}
	}
	if r.dir, err = launch.PrivateDir(); err != nil {
		return nil, nil, console.Failed("cannot make a directory for the bootstrap: %w", err)
	}
	c, err := launch.NewClient(r.argv, of, r.dir, proxy.AddrOf(server).String(), r.admin)
	if err != nil {
		return nil, nil, console.Failed("%s: %w", r.source, err)
	}
	r.wanting, r.unfilled = of.Notes, c.Hint
	return c.Argv, c.Env, nil
}

// fateOf is what became of a command that was not played with: it has ended, or
// else what it did not do.
func (r *Replay) fateOf(c *launch.Child, lacking string) error {
	what := lacking
	if c.Ended() {
		what = fmt.Sprintf("ended (%s) before anything was played", c.Fate())
		if r.Follow {
			what = fmt.Sprintf("ended (%s) while it was asked", c.Fate())
		}
	}
	words := c.LastWords()
	heard := "it printed nothing"
	if len(words) > 0 {
		heard = "its last words:\n" + strings.Join(words, "\n")
	}
	return console.Failed("the command %s %s; %s", console.ShellWord(r.argv[0]), what, heard).Hint("%s", r.unfilled)
}

// runAll plays each SOURCE with each command. One play prints its report, several
// a table.
func (r *Replay) runAll(ctx context.Context, sources []string) error {
	commands := r.Commands
	if len(commands) == 0 {
		commands = [][]string{nil}
	}
	r.several = len(sources)*len(commands) > 1
	var m launch.Matrix
	for _, source := range sources {
		for _, argv := range commands {
			r.source, r.argv, r.fate, r.trouble, r.observer = source, argv, nil, nil, nil
			r.wanting, r.unfilled, r.Options.Client = nil, "", r.Client
			report, err := r.run(ctx)
			if !r.several {
				return r.alone(report, err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, console.ErrDifferences) {
				err = nil
			}
			m.Enter(source, console.Command(argv), r.Options.Client, report, err)
		}
	}
	for _, argv := range commands {
		m.Commands = append(m.Commands, console.Command(argv))
	}
	return r.printMatrix(&m)
}

// alone prints the report of the only play.
func (r *Replay) alone(report *replay.Report, err error) error {
	if report != nil {
		if printed := r.print(report); printed != nil {
			return printed
		}
	}
	return err
}

// matrixFacts is what replay -o json prints of several plays.
type matrixFacts struct {
	Schema string `json:"schema"`
	*launch.Matrix
}

func (r *Replay) printMatrix(m *launch.Matrix) error {
	if err := r.Show(r.Output, matrixFacts{render.Schema, m}, func() string { return matrixText(m) }); err != nil {
		return err
	}
	switch {
	case m.Has(launch.Differs):
		return console.ErrDifferences
	case m.Has(launch.Failed):
		return &console.Failure{Err: errors.New("not all was played"), Code: console.ExitFailed, Silent: true}
	}
	return nil
}

// matrixText is the table, and below it what differs or failed, play by play.
func matrixText(m *launch.Matrix) string {
	width := len(m.Commands)
	header := append([]string{"RECORDING"}, programNames(m.Commands)...)
	rows := [][]string{header}
	for i := 0; i < len(m.Cells); i += width {
		row := []string{render.Safe(m.Cells[i].Source)}
		for _, c := range m.Cells[i : i+width] {
			text := string(c.Outcome)
			if c.Outcome == launch.Differs {
				text = render.Count(len(c.Report.Differences)+c.Report.More, "difference", "differences")
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	b.WriteString(columnsOf(rows))
	for _, c := range m.Cells {
		if c.Outcome == launch.AsRecorded {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", render.Safe(c.Source+" with "+c.Command))
		if c.Error != "" {
			fmt.Fprintf(&b, "! %s\n", strings.ReplaceAll(render.SafeLines(c.Error), "\n", "\n    "))
			continue
		}
		b.WriteString(differencesText(c.Report))
		for _, n := range c.Report.Notes {
			b.WriteString("i " + render.Safe(n) + "\n")
		}
	}
	return b.String()
}

// programNames are short names of commands: those of their programs, if these
// tell them apart.
func programNames(commands []string) []string {
	var out []string
	for _, c := range commands {
		program, _, _ := strings.Cut(c, " ")
		name := render.Safe(filepath.Base(program))
		if slices.Contains(out, name) {
			return slices.Clone(commands)
		}
		out = append(out, name)
	}
	return out
}
