package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// schema names the machine-readable forms, in every object of them.
const schema = render.Schema

// outputFlag adds -o, which takes one of a few forms.
func outputFlag(cmd *cobra.Command, p *string, forms ...string) {
	f := cmd.Flags().VarPF(choiceValue{p, forms}, "output", "o", "form of the output")
	f.Annotations = map[string][]string{groupKey: {groupOutput}}
	// The error is impossible: the flag exists.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp))
}

// printPairs prints lines of a name and a value; those without a value are
// left out.
func (a *app) printPairs(rows [][2]string) error {
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
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

// descriptor returns the file behind a stream, if there is one.
func descriptor(stream any) (fd int, ok bool) {
	if behind, is := stream.(paged); is {
		stream = behind.terminal
	}
	switch wrapped := stream.(type) {
	case pipe:
		stream = wrapped.w
	case *curtain:
		stream = wrapped.w
	}
	f, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	return int(f.Fd()), true
}

func isTerminal(stream any) bool {
	fd, ok := descriptor(stream)
	return ok && term.IsTerminal(fd)
}

// columns is the width of a terminal, or 0 where there is none.
func columns(stream any) int {
	fd, ok := descriptor(stream)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(fd)
	if err != nil {
		return 0
	}
	return w
}

// colourful decides whether standard output gets colour.
func (a *app) colourful() bool {
	switch a.config.color {
	case "always":
		return true
	case "never":
		return false
	}
	if force := os.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(a.stdout)
}
