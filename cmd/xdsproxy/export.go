package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
)

func newExport(a *app) *cobra.Command {
	var path string
	repair, output := false, "xdsp"
	cmd := a.command(&cobra.Command{
		Use:   "export SOURCE -w FILE {--repair | -o script}",
		Short: "Rescue a damaged recording, or write one as a script",
		Long: `With -o script, writes the conversation as text: one line a message, which every
command reads like a recording, and which can be edited by hand. A bug from the
field becomes a test: the same rules find the same. What the notation cannot
carry is said. Without -w it goes to standard output. xdsproxy help scripts
explains the lines.

With --repair, copies everything that can be read of a recording, on both sides
of what is damaged, into a new recording without damage. SOURCE is left as it
is.

Entries keep their numbers and their times. Where something is missing, a gap
entry says how much; a message of which a part was lost says so, too. What was
rescued and what was lost is printed, and the exit code is 0 if anything was
rescued, 12 if nothing was. Each segment of a recording is rescued by itself.`,
		Example: `xdsproxy export gw.xdsp -o script -w gw.xds
xdsproxy export gw.xdsp --repair -w gw-fixed.xdsp`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return misused("export needs a SOURCE")
		case len(args) > 1:
			return misused("one SOURCE at a time, but got %d", len(args))
		case repair && output == "script":
			return misused("--repair copies a recording, and -o script writes a script: give one of them")
		case output == "script":
			return a.exportScript(cmd.Context(), args[0], path)
		case !repair:
			return misused("export needs -o script or --repair")
		case path == "":
			return misused("export needs -w FILE: where is the copy to go?").
				hint("%s", repairCommand(args[0]))
		case args[0] == "-":
			return misused("what comes through a pipe cannot be repaired").hint("write it to a file first")
		}
		name, err := sourcePath(args[0])
		if err != nil {
			return err
		}
		return a.repair(cmd.Context(), name, path)
	})
	cmd.Flags().VarP(textValue{&path, "FILE"}, "write", "w", "write to this file, which must not exist yet")
	outputFlag(cmd, &output, "xdsp", "script")
	cmd.Flags().BoolVar(&repair, "repair", false, "copy what is readable, and leave out what is damaged")
	return cmd
}

// repairCommand is how to rescue a recording into a file beside it.
func repairCommand(name string) string {
	fixed := strings.TrimSuffix(name, filepath.Ext(name)) + "-fixed.xdsp"
	return fmt.Sprintf("xdsproxy export %s --repair -w %s", shellWord(name), shellWord(fixed))
}

func (a *app) repair(ctx context.Context, from, to string) error {
	var read int64
	var copied uint64
	line := a.progressOf("rescuing", from, func() (int64, uint64) { return read, copied })
	done, err := recorder.Salvage(ctx, from, to, func(n int64, entries uint64) {
		read, copied = n, entries
		line.advance()
	})
	line.end()
	switch {
	case errors.Is(err, fs.ErrExist):
		return failed("%w", err).hint("nothing is overwritten; name another file with -w FILE, or remove this one")
	case err != nil:
		return unreadable(err)
	case done.Entries == 0:
		f := failed("nothing could be rescued of %q: it holds no entry that can be read", from)
		if done.Damages > 0 {
			f.code = exitDamaged
		}
		if err := os.Remove(to); err != nil {
			return failed("%w", err)
		}
		return f
	}
	a.say("rescued %s into %s", render.Count(done.Entries, "entry", "entries"), to)
	if done.Partial > 0 {
		a.say("of them, %s had lost a part", render.Count(done.Partial, "message", "messages"))
	}
	if done.Damages == 0 {
		a.say("nothing is missing: no damage was found")
	} else {
		a.say("lost %s or more, %s in %s", render.Count(done.Lost, "entry", "entries"), render.Size(done.Bytes),
			render.Count(done.Damages, "damaged place", "damaged places"))
	}
	a.say("read it with: xdsproxy watch %s", shellWord(to))
	older, _ := filepath.Glob(strings.TrimSuffix(from, ".xdsp") + ".[0-9][0-9][0-9][0-9][0-9][0-9].xdsp") // a strange name has none
	if len(older) > 0 {
		a.say("the recording has older segments, which are rescued one by one: %s", strings.Join(older, ", "))
	}
	return nil
}
