package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
)

// pagerVariables name the program that long texts are shown in, on a terminal.
var pagerVariables = [...]string{"XDSPROXY_PAGER", "PAGER"}

// paged is a terminal behind a pager.
type paged struct {
	io.Writer
	terminal io.Writer
}

// paging lets a command print through the pager of the one who reads, if there
// is one and standard output is a terminal. It waits for its end.
func (a *app) paging(run func(cmd *cobra.Command, args []string) error) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		program := ""
		for _, v := range pagerVariables {
			if program = os.Getenv(v); program != "" {
				break
			}
		}
		if program == "" || program == "cat" || !isTerminal(a.stdout) || os.Getenv("TERM") == "dumb" {
			return run(cmd, args)
		}
		// Like git, it is a line for the shell, and less leaves what fits on the
		// screen there, in colour.
		pager := exec.Command("sh", "-c", program)
		pager.Stdout, pager.Stderr, pager.Env = os.Stdout, os.Stderr, os.Environ()
		if os.Getenv("LESS") == "" {
			pager.Env = append(pager.Env, "LESS=FRX")
		}
		in, err := pager.StdinPipe()
		if err == nil {
			err = pager.Start()
		}
		if err != nil {
			a.warn("cannot start the pager %s: %v", program, err)
			return run(cmd, args)
		}
		terminal := a.stdout
		a.stdout = paged{pipe{in}, terminal}
		err = run(cmd, args)
		a.stdout = terminal
		if closing := in.Close(); err == nil && closing != nil && !errors.Is(closing, os.ErrClosed) {
			err = closing
		}
		// A pager that has failed may have shown nothing. Whether it was gone
		// before we wrote or after is a matter of chance, and makes no difference.
		if ended := pager.Wait(); ended != nil && (err == nil || errors.Is(err, errClosedPipe)) {
			a.warn("the pager %s: %v", program, ended)
			fmt.Fprintln(a.stderr, "xdsproxy: hint: XDSPROXY_PAGER=cat prints without a pager")
		}
		return err
	}
}
