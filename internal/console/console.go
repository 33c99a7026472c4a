// Package console is how a command speaks with the person or the script that
// called it: its streams, its sentences, its progress, and its errors with
// their hints and exit codes. It knows no recording and no flag.
package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Console is the streams of a command, and what was said about their use.
type Console struct {
	Ctx    context.Context // of the whole program, which a signal ends
	Stdin  io.Reader
	Stdout io.Writer // data, and nothing else
	Stderr io.Writer // everything else
	Quiet  bool      // no line but warnings and errors
	Color  string    // always, never, or "" and auto for whether somebody sees it
}

// Warn prints one sentence that does not stop the work.
func (c *Console) Warn(format string, args ...any) {
	c.Tell("xdsproxy: warning: "+format, args...)
}

// Say prints one line about what goes on, unless the console is quiet.
func (c *Console) Say(format string, args ...any) {
	if !c.Quiet {
		c.Tell(format, args...)
	}
}

// Tell prints one line on standard error. What peers wrote in it is harmless.
func (c *Console) Tell(format string, args ...any) {
	fmt.Fprintln(c.Stderr, render.Safe(bounded(fmt.Sprintf(format, args...))))
}

// JSON prints a value as an indented document.
func (c *Console) JSON(v any) error { return render.WriteJSON(c.Stdout, v) }

// Show prints a value as JSON if that is the form, else as text.
func (c *Console) Show(form string, v any, text func() string) error {
	if form == "json" {
		return c.JSON(v)
	}
	return c.Print(text())
}

// Print prints a text as it is.
func (c *Console) Print(text string) error {
	_, err := io.WriteString(c.Stdout, text)
	return err
}

// Pairs prints lines of a name and a value; those without a value are left out.
func (c *Console) Pairs(rows [][2]string) error {
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	var b strings.Builder
	for _, r := range rows {
		if r[1] != "" {
			fmt.Fprintf(&b, "%-*s  %s\n", width, r[0], render.Safe(r[1]))
		}
	}
	return c.Print(b.String())
}

// Columns is the width of the terminal that standard output is, or 0 if it is none.
func (c *Console) Columns() int { return columns(c.Stdout) }

// Style is how standard output is coloured.
func (c *Console) Style() render.Style { return render.Style{Color: c.Colourful()} }

// Colourful decides whether standard output gets colour.
func (c *Console) Colourful() bool {
	switch c.Color {
	case "always":
		return true
	case "never":
		return false
	}
	if force := os.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && IsTerminal(c.Stdout)
}
