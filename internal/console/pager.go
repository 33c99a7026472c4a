package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// PagerVariables name the program that long texts are shown in, on a terminal.
var PagerVariables = [...]string{"XDSPROXY_PAGER", "PAGER"}

// Paging prints through the pager of the one who reads, if there is one and
// standard output is a terminal. It waits for its end. print prints to the writer
// that it is given.
func (c *Console) Paging(print func(to io.Writer) error) error {
	program := ""
	for _, v := range PagerVariables {
		if program = os.Getenv(v); program != "" {
			break
		}
	}
	if program == "" || program == "cat" || !IsTerminal(c.Stdout) || os.Getenv("TERM") == "dumb" {
		return print(c.Stdout)
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
		c.Warn("cannot start the pager %s: %v", program, err)
		return print(c.Stdout)
	}
	err = print(paged{Pipe{in}, c.Stdout})
	_ = in.Close() // a pipe holds nothing back
	// A pager that has failed may have shown nothing. Whether it was gone
	// before we wrote or after is a matter of chance, and makes no difference.
	if ended := pager.Wait(); ended != nil && (err == nil || errors.Is(err, ErrClosedPipe)) {
		c.Warn("the pager %s: %v", program, ended)
		fmt.Fprintln(c.Stderr, "xdsproxy: hint: XDSPROXY_PAGER=cat prints without a pager")
	}
	return err
}
