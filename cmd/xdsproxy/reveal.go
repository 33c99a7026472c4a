package main

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/pseudonym"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

func newReveal(a *cli) *cobra.Command {
	return a.command(&cobra.Command{
		Use:   "reveal KEYFILE [TEXT...]",
		Short: "Put names back into a text with stand-ins",
		Long: `Translates stand-ins, which export --pseudonyms put in the place of names, back
into the names. KEYFILE is the file that export wrote beside the recording.
Without a TEXT it translates standard input. Words that stand for nothing stay.`,
		Example: `# What a maintainer wrote of the recording that was attached
xdsproxy reveal gw.xdsp.key 'cluster kuvo-ziba got no endpoints'

xdsproxy check part.xdsp | xdsproxy reveal part.xdsp.key`,
	}, func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return misused("reveal needs a KEYFILE")
		}
		key, err := pseudonym.LoadKey(args[0])
		if err != nil {
			return failed("cannot read the key file %s: %w", args[0], err).Hint("it is the file that ends with .key, beside what export or report wrote with --pseudonyms")
		}
		r := pseudonym.NewReveal(key)
		out := bufio.NewWriter(a.stdout)
		if len(args) > 1 {
			_, _ = out.WriteString(render.Safe(r.Text(strings.Join(args[1:], " "))) + "\n")
			return out.Flush()
		}
		in := bufio.NewReaderSize(a.stdin, 1<<16)
		for {
			line, err := in.ReadString('\n')
			text, ended := strings.CutSuffix(line, "\n")
			_, _ = out.WriteString(render.SafeLines(r.Text(text)))
			if ended {
				_ = out.WriteByte('\n')
			}
			if errors.Is(err, io.EOF) {
				return out.Flush()
			}
			if err != nil {
				return errors.Join(err, out.Flush())
			}
		}
	})
}
