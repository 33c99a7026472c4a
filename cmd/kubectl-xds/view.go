package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// viewing has the commands of xdsproxy that read from a running proxy.
var viewing = map[string]bool{"watch": true, "open": true, "status": true, "check": true, "info": true, "show": true, "tree": true}

// tokenVariable is where xdsproxy looks for the token of a viewer. A command line
// can be seen by everybody on the machine.
const tokenVariable = "XDSPROXY_VIEWER_TOKEN"

// view is one run of xdsproxy behind a forwarded port.
type view struct {
	command  string
	o        *options
	to       target
	xdsproxy string
	kubectl  string
}

func newViewing(command string, o *options) (*view, error) {
	if len(o.words) != 1 {
		return nil, misused("%s takes one KIND/NAME, such as deploy/xdsproxy", command)
	}
	to, err := parseTarget(o.words[0])
	if err != nil {
		return nil, err
	}
	v := &view{command: command, o: o, to: to}
	if v.kubectl, err = exec.LookPath("kubectl"); err != nil {
		return nil, &failure{"kubectl is not in PATH", "it forwards the port", exitNoCommand}
	}
	if v.xdsproxy, err = exec.LookPath("xdsproxy"); err != nil {
		return nil, &failure{"xdsproxy is not in PATH", "this plugin runs the one of this machine; install it, or put it there", exitNoCommand}
	}
	return v, nil
}

func (v *view) run(in io.Reader, out, errs io.Writer) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, endings()...)
	defer signal.Stop(signals)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupted := make(chan os.Signal, 1)
	quiet := make(chan struct{}) // closed when signals are for xdsproxy
	go func() {
		select {
		case s := <-signals:
			interrupted <- s
			cancel()
		case <-quiet:
		}
	}()

	env, err := v.token(ctx, in, errs)
	var f *forward
	if err == nil {
		f = &forward{v: v, remote: v.o.port}
		defer f.stop()
		err = f.start(ctx)
	}
	close(quiet)
	select {
	case s := <-interrupted:
		return 128 + number(s), nil
	default:
	}
	if err != nil {
		return 0, err
	}
	argv := append([]string{v.command, f.local()}, v.o.rest...)
	cmd := exec.Command(v.xdsproxy, argv...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	if err := cmd.Start(); err != nil {
		return 0, failed("", "cannot run xdsproxy: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // it may have ended just now
			case <-ended:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(ended)
	return code(cmd.ProcessState, err), nil
}

// code is the exit code of a command as a shell has it.
func code(state *os.ProcessState, err error) int {
	switch {
	case err == nil:
		return 0
	case state == nil:
		return exitFailed
	case state.ExitCode() >= 0:
		return state.ExitCode()
	}
	return 128 + killedBy(state)
}

// token is the environment of xdsproxy, with the token of the Secret unless the
// caller has one.
func (v *view) token(ctx context.Context, in io.Reader, errs io.Writer) ([]string, error) {
	env := os.Environ()
	named := func(arg string) bool {
		return arg == "--viewer-token-file" || strings.HasPrefix(arg, "--viewer-token-file=")
	}
	if os.Getenv(tokenVariable) != "" || os.Getenv(tokenVariable+"_FILE") != "" || slices.ContainsFunc(v.o.rest, named) {
		return env, nil
	}
	// In the foreground, on the terminal: whoever has to log in does it here.
	argv := v.o.kubectl("get", "secret", v.o.secret, "-o", "jsonpath={.data.token}")
	cmd := exec.CommandContext(ctx, v.kubectl, argv[1:]...)
	said := &tail{}
	var data tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &data, said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	token, decoded := base64.StdEncoding.DecodeString(strings.TrimSpace(data.String()))
	if err == nil && (decoded != nil || len(token) == 0) {
		err = errors.New("it has no key token")
	}
	if err != nil {
		hint := "set " + tokenVariable + ", or name the Secret that the proxy has with --token-secret; deploy/README.md says how it is made"
		return nil, failed(hint, "there is no token for the viewer: secret %s: %s", v.o.secret, said.or(err))
	}
	return append(env, tokenVariable+"="+strings.TrimSpace(string(token))), nil
}

// tail keeps the last of what a command says.
type tail struct{ b []byte }

const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	t.b = slices.Delete(t.b, 0, max(0, len(t.b)-maxTail))
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }

// or is the last line of what was said, or else the error.
func (t *tail) or(err error) string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return strings.TrimPrefix(last, "error: ")
	}
	if err == nil {
		return "it said nothing"
	}
	return err.Error()
}
