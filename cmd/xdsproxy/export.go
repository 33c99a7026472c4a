package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/tui"
)

// The forms that export writes besides those of convert.
const (
	formRecording = "xdsp"
	formScript    = "script"
	formPage      = "html"
)

var exportForms = []string{formRecording, "csv", "jsonl", "yaml", "mermaid", "md", formPage, formScript, formFolder}

// formOf is the form that the name of a file asks for.
func formOf(path string) string {
	switch ext := strings.TrimPrefix(filepath.Ext(path), "."); ext {
	case "csv", "jsonl", "yaml", "md", formPage:
		return ext
	case "yml":
		return "yaml"
	case "mmd":
		return "mermaid"
	case "xds":
		return formScript
	}
	return formRecording
}

func newExport(a *cli) *cobra.Command {
	x := &export{cli: a, form: formRecording}
	cmd := a.command(&cobra.Command{
		Use:   "export SOURCE [-o FORM] [-w FILE] [--seq SEQ] [--filter FILTER]",
		Short: "Take a part out of a recording, convert or rescue one",
		Long: `Writes a recording, or what --seq and --filter choose of it, in another form.
Without -o the name of FILE says which: .xdsp .csv .jsonl .yaml .mmd .md .html
.xds.

  xdsp     a recording with the chosen entries and all that is needed to
           understand them: how their streams began, who the client is, what
           was asked before, the response that a verdict is about and the
           verdict on a response, what was accepted last, the ends. Entries keep
           their numbers and times; what is left out between them is marked and
           counts as no loss. --no-context writes the chosen entries alone
  csv      one line an entry, with the columns of watch
  jsonl    the objects of watch -o jsonl
  yaml     the documents of show
  mermaid  a sequence diagram
  md       a report for a bug tracker: what was recorded, the clients, what the
           rules found, with a diagram and the messages of each finding. It
           names messages of more than 4 MiB, and does not show them
  html     the same as one page for any browser, with every entry: it needs no
           network and runs no text of a peer. Its data is in it as JSON. It
           stays under some 10 MB: what there is no room for is summed up
  script   the whole conversation as text: one line a message, which every
           command reads like a recording, and which can be edited by hand.
           What the notation cannot carry is said; see xdsproxy help scripts
  dir      a folder to edit: session.yaml has the entries, and each content of a
           resource is a file, resources/TYPE/NAME@N.yaml, decoded in full.
           xdsproxy import makes a recording of it again. -w DIR must not exist
           yet, or be empty

Text goes to standard output if there is no FILE, or if it is -. Secrets that
were masked when they were recorded stay masked; --mask masks those of a
recording that was made with --keep-secrets.

--pseudonyms puts stand-ins in the place of the names of clients, resources
and hosts, of addresses, paths, metadata, versions and nonces. They have the
shape of the names, and equal ones stay equal, so that rules find the same and a
replay goes the same way. The key, which reveal needs to put names back, stays
in a file beside. Nothing is written if a name is found again in the result.

With --repair, copies everything that can be read of a recording, on both sides
of what is damaged, into a new recording without damage. SOURCE is left as it
is. Where something is missing, a gap entry says how much; a message of which a
part was lost says so, too. The exit code is 0 if anything was rescued, 12 if
nothing was. Each segment of a recording is rescued by itself.`,
		Example: `# Four entries, and what explains them, to attach to an issue
xdsproxy export gw.xdsp --seq 4104..4107 -w part.xdsp

# The same without a name in it
xdsproxy export gw.xdsp --seq 4104..4107 --pseudonyms -w part.xdsp

# The issue itself
xdsproxy export gw.xdsp --filter client:gw-0 -w report.md

# All of it, to look at in a browser
xdsproxy export gw.xdsp -w report.html

xdsproxy export gw.xdsp --filter 'client:gw-0 type:lds' -o mermaid
xdsproxy export gw.xdsp -o script -w gw.xds
xdsproxy export gw.xdsp --repair -w gw-fixed.xdsp

# What if this timeout were 2s?
xdsproxy export gw.xdsp -o dir -w gw
xdsproxy import gw -w edited.xdsp
xdsproxy replay edited.xdsp -- envoy`,
		ValidArgsFunction: completeSource,
	}, func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("output") {
			x.form = formOf(x.path)
		}
		return x.run(cmd.Context(), args)
	})
	cmd.Flags().VarP(settings.NewText(&x.path, "FILE"), "write", "w", "write to this file, which must not exist yet; - is standard output")
	outputFlag(cmd, &x.form, exportForms...)
	cmd.Flags().StringSliceVar(&x.seqs, "seq", nil, "only these entries: `SEQ` is a number or a range, such as 4104..4107")
	filterFlag(cmd, &x.filter)
	cmd.Flags().BoolVar(&x.bare, "no-context", false, "leave out what explains the chosen entries")
	cmd.Flags().BoolVar(&x.mask, "mask", false, "mask secrets that were recorded in the clear")
	cmd.Flags().BoolVar(&x.pseudonymous, "pseudonyms", false, "put stand-ins in the place of all names and addresses")
	cmd.Flags().Var(settings.NewText(&x.keyFile, "FILE"), "key-file", "the key of the stand-ins, made if it is not there (default the name of\nthe written file and .key)")
	cmd.Flags().BoolVar(&x.repairing, "repair", false, "copy what is readable, and leave out what is damaged")
	return cmd
}

// export is one run of the command.
type export struct {
	*cli
	name, path, form, filter string
	seqs                     []string
	bare, mask, repairing    bool
	pseudonymous             bool
	keyFile                  string
	private                  *tui.Private // not nil: names are hidden
	inside                   bool         // a process that has other things to do
	last                     session.Seq  // up to which it was read first: what still grows is not read further
}

// run sorts out what was asked for.
func (x *export) run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return misused("export needs a SOURCE")
	case len(args) > 1:
		return misused("one SOURCE at a time, but got %d", len(args)).Hint("--seq and --filter choose entries")
	}
	x.name = args[0]
	part := len(x.seqs) > 0 || x.filter != ""
	recording := x.form == formRecording
	switch {
	case x.repairing && !recording:
		return misused("--repair copies a recording, and -o %s writes another form: give one of them", x.form)
	case x.repairing && (part || x.bare || x.mask):
		return misused("--repair copies all that is readable").Hint("repair first, and export from the copy")
	case x.repairing && x.pseudonymous, x.mask && x.pseudonymous:
		return misused("--pseudonyms is a step of its own").Hint("repair or mask first, and export from the copy")
	case x.keyFile != "" && !x.pseudonymous:
		return misused("--key-file is the key of --pseudonyms")
	case x.pseudonymous && !recording && x.filter != "":
		return misused("--pseudonyms with --filter writes a recording: the filter has the names, and the copy has not").
			Hint("cut the part out first: xdsproxy export %s --pseudonyms --filter FILTER -w part.xdsp", shellWord(x.name))
	case (x.form == formScript || x.form == formFolder) && (part || x.mask):
		return misused("-o %s writes the whole conversation", x.form).
			Hint("cut a part out first: xdsproxy export %s --seq SEQ -w part.xdsp", shellWord(x.name))
	case x.bare && !recording:
		return misused("--no-context is about recordings: other forms have the chosen entries alone")
	case x.mask && !recording:
		return misused("--mask masks a recording").Hint("export from the copy that it makes")
	case x.bare && !part:
		return misused("--no-context without --seq or --filter: every entry is chosen")
	case x.form == formScript && !x.pseudonymous:
		if x.path == "-" {
			x.path = ""
		}
		return x.exportScript(ctx, x.name, x.path)
	case x.form == formFolder && (x.path == "" || x.path == "-"):
		return misused("-o dir needs -w DIR: where is the folder to go?")
	case x.form == formFolder:
		return x.folder(ctx)
	case x.repairing:
		return x.rescue(ctx)
	case recording && (x.path == "" || x.path == "-"):
		return misused("a recording needs -w FILE: where is it to go?").
			Hint("text goes to standard output: -o %s", strings.Join(exportForms[1:len(exportForms)-1], ", -o "))
	case x.name == "-" && (recording || x.report() || x.pseudonymous):
		return misused("what comes through a pipe can be read only once, and -o %s reads it several times", x.form).
			Hint("write it to a file first")
	}
	if _, live := input.ViewerAddr(x.name); x.name != "-" && !live { // it is opened several times: the newest must stay the same
		name, err := input.Path(x.name)
		if err != nil {
			return err
		}
		x.name = name
	}
	switch {
	case x.pseudonymous:
		return x.pseudonyms(ctx)
	case recording:
		return x.cut(ctx)
	}
	return x.text(ctx)
}

// report says whether the form tells of the whole session, and reads it several
// times.
func (x *export) report() bool { return x.form == string(convert.Markdown) || x.form == formPage }

func (x *export) rescue(ctx context.Context) error {
	switch {
	case x.path == "" || x.path == "-":
		return misused("export needs -w FILE: where is the copy to go?").Hint("%s", input.RepairCommand(x.name))
	case x.name == "-":
		return misused("what comes through a pipe cannot be repaired").Hint("write it to a file first")
	}
	name, err := input.Path(x.name)
	if err != nil {
		return err
	}
	return x.repair(ctx, name, x.path)
}
