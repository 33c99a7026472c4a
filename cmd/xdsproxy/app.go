package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/app"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// cli is what every command has at hand: the streams and the settings.
type cli struct {
	stdin  io.Reader
	stdout io.Writer // data, and nothing else
	stderr io.Writer // everything else

	ctx    context.Context // of the whole program, which a signal ends
	config *settings.Settings
}

// main1 is the whole program; it returns the exit code. args are without the
// program's name.
func main1(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// A reader that went away shows as an error of the write, not as a signal
	// that would end a proxy in the middle of its work.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks; a second one, of a command that hangs at its output,
	// ends the program as if nobody had caught it. run has its own way.
	context.AfterFunc(ctx, stop)

	a := &cli{ctx: ctx, stdin: stdin, stdout: console.Pipe{W: stdout}, stderr: &console.Stderr{W: stderr}}
	a.config = settings.New()
	log.SetOutput(libraries{a.stderr})
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)

	strictCompletion(root)
	err := root.ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command ") {
		err = unknownCommand(root, err)
	}
	return a.exit(ctx, err)
}

// libraries is where libraries log. Of a server that sends more than it announced
// net/http says so there, with what it sent; whoever reads says what that came to.
type libraries struct{ w io.Writer }

func (l libraries) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("Unsolicited response received on idle HTTP channel")) {
		return len(p), nil
	}
	return l.w.Write(p)
}

// exit prints what went wrong, if anything did, and chooses the exit code.
func (a *cli) exit(ctx context.Context, err error) int {
	var f *failure
	switch {
	case err == nil, errors.Is(err, console.ErrClosedPipe):
		return console.ExitDone
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return console.ExitInterrupted
	case !errors.As(err, &f):
		f = &failure{Err: err, Code: console.ExitFailed}
	}
	f.Print(a.stderr)
	return f.Code
}

// console is how this command speaks.
func (a *cli) console() *console.Console {
	return &console.Console{Ctx: a.ctx, Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr, Quiet: bool(a.config.Quiet), Color: a.config.Color}
}

func (a *cli) warn(format string, args ...any) { a.console().Warn(format, args...) }
func (a *cli) say(format string, args ...any)  { a.console().Say(format, args...) }
func (a *cli) tell(format string, args ...any) { a.console().Tell(format, args...) }

// command finishes a command that does work: its settings are resolved before
// it runs, and its usage errors show its form.
func (a *cli) command(cmd *cobra.Command, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	return plainCommand(cmd, func(cmd *cobra.Command, args []string) error {
		if err := a.config.Resolve(a.console(), cmd.Flags()); err != nil {
			return err
		}
		if decodes(cmd) {
			if err := a.config.ReadTypes(a.console()); err != nil {
				return err
			}
		}
		return run(cmd, args)
	})
}

// plainCommand is a command that works without settings, and so also when they
// are broken. Commands check their arguments themselves.
func plainCommand(cmd *cobra.Command, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	cmd.DisableFlagsInUseLine = true
	cmd.Flags().SortFlags = false
	cmd.Args = noneEmpty
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withUsage(cmd, run(cmd, args))
	}
	return cmd
}

// noneEmpty refuses arguments that are "", as of a variable of a shell that is not set:
// a SOURCE that is left out is a recording, and not the one that was meant.
func noneEmpty(cmd *cobra.Command, args []string) error {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		args = args[:at]
	}
	if at := slices.Index(args, ""); at >= 0 {
		return withUsage(cmd, misused("argument %d is empty", at+1).Hint("is it a variable of your shell that is not set?"))
	}
	return nil
}

// noArguments refuses what a command has no use for.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return misused("%s takes no arguments, but got %q", cmd.Name(), args[0])
	}
	return nil
}

// opener opens what this command reads.
func (a *cli) opener() *input.Opener {
	return &input.Opener{Console: a.console(), Token: a.config.ViewerToken, Types: a.config.Types}
}

// host is who starts a proxy, with a log of its own. watched says that a person
// sees the entries on the same screen.
func (a *cli) host(watched bool) *app.Host { return a.hostOf(a.logger(watched)) }

func (a *cli) logger(watched bool) *zap.Logger { return app.NewLogger(a.console(), a.config, watched) }

func (a *cli) hostOf(logger *zap.Logger) *app.Host {
	return &app.Host{Console: a.console(), Settings: a.config, Logger: logger}
}
