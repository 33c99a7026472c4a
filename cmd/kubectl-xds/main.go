// Command kubectl-xds is a plugin of kubectl: kubectl xds watch deploy/NAME forwards
// the viewer port of an xdsproxy in the cluster and runs the installed xdsproxy with
// it; kubectl xds insert prints what puts a proxy in, and takes it out again.
//
// It runs kubectl and xdsproxy as commands and has no client of the API of its own,
// so that it stays small, and needs no other credentials and no other rights than
// those of the kubectl in use. It applies nothing.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The exit codes of its own are those of xdsproxy; a command that it runs has its.
const (
	exitFailed    = 1
	exitUsage     = 2
	exitNoCommand = 127
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// failure is an error as a person reads it: one sentence, and what may help.
type failure struct {
	what string
	hint string
	code int
}

func (f *failure) Error() string { return f.what }

func misused(format string, args ...any) *failure {
	return &failure{what: fmt.Sprintf(format, args...), hint: "kubectl xds --help explains it", code: exitUsage}
}

func failed(hint, format string, args ...any) *failure {
	return &failure{what: fmt.Sprintf(format, args...), hint: hint, code: exitFailed}
}

func run(args []string, in io.Reader, out, errs io.Writer) int {
	code, err := dispatch(args, in, out, errs)
	if err == nil {
		return code
	}
	f, is := errors.AsType[*failure](err)
	if !is {
		f = &failure{what: err.Error(), code: exitFailed}
	}
	fmt.Fprintf(errs, "kubectl xds: error: %s\n", printable(f.what))
	if f.hint != "" {
		fmt.Fprintf(errs, "kubectl xds: hint: %s\n", printable(f.hint))
	}
	return f.code
}

func dispatch(args []string, in io.Reader, out, errs io.Writer) (int, error) {
	if len(args) == 0 {
		fmt.Fprint(errs, help)
		return exitUsage, nil
	}
	command := args[0]
	o, err := parse(args[1:])
	switch {
	case command == "help" || command == "--help" || command == "-h" || err == nil && o.help:
		_, err := io.WriteString(out, help)
		return 0, err
	case err != nil:
		return 0, err
	case command == "insert":
		text, err := insert(o)
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		return 0, err
	case viewing[command]:
		v, err := newViewing(command, o)
		if err != nil {
			return 0, err
		}
		return v.run(in, out, errs)
	}
	return 0, misused("%q is no command of this plugin", command)
}

// printable leaves nothing in a text that a terminal would take for a command.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
