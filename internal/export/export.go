// Package export writes a source, or a part of it, in another form, or as a report,
// and makes recordings of what others wrote. How each form looks is decided in
// convert.
package export

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/session"
)

// The forms that export writes besides those of convert.
const (
	FormRecording = "xdsp"
	formScript    = "script"
	formPage      = "html"
	formFolder    = "dir" // it can be edited
	formPackets   = "pcapng"
	formBootstrap = "bootstrap"
	formTables    = "parquet" // of many recordings
)

// Forms are all that can be asked for. Behind the first are those of text, up to
// formBootstrap.
var Forms = []string{
	FormRecording, "csv", "jsonl", "yaml", "mermaid", "md", formPage, formScript, formBootstrap,
	string(convert.BinaryLog), formPackets, formFolder, formTables,
}

// formsByEnding are those that the name of a file asks for.
var formsByEnding = []struct{ ending, form string }{
	{"xdsp", FormRecording},
	{"csv", "csv"},
	{"jsonl", "jsonl"},
	{"yaml", "yaml"},
	{"yml", "yaml"},
	{"mmd", "mermaid"},
	{"md", "md"},
	{formPage, formPage},
	{"xds", formScript},
	{formPackets, formPackets},
}

// FormOf is the form that the name of a file asks for; a recording, if it has no
// ending at all.
func FormOf(path string) (string, error) {
	ext := strings.TrimPrefix(filepath.Ext(path), ".")
	if ext == "" {
		return FormRecording, nil
	}
	var known []string
	for _, f := range formsByEnding {
		if f.ending == ext {
			return f.form, nil
		}
		known = append(known, "."+f.ending)
	}
	return "", console.Misused("no form is known by the ending of %q", filepath.Base(path)).
		Hint("the endings are %s; with -o FORM a file may have any name", strings.Join(known, " "))
}

// Export is one run of the command.
type Export struct {
	*input.Opener
	// Judge is how what is read is held against the rules.
	Judge                    check.Options
	Name, Path, Form, Filter string
	Seqs                     []string // numbers of entries, and ranges
	Bare                     bool     // without what explains the chosen entries
	Mask                     bool
	Repairing                bool
	Pseudonymous             bool
	KeyFile                  string
	Embed                    bool    // the descriptors that are known, in a recording that is written
	EmbedAsked               bool    // on the command line, and not by a setting that is for all of them
	Client                   string  // whose bootstrap it is
	Private                  Private // not nil: names are hidden
	Tables                   Tables
	Inside                   bool         // a process that has other things to do
	beside                   *notes.Notes // what people left beside the source
	last                     session.Seq  // up to which it was read first: what still grows is not read further
}

// Run sorts out what was asked for.
func (x *Export) Run(ctx context.Context, args []string) error {
	switch {
	case x.Form == formTables:
		return x.columns(ctx, args)
	case x.Tables.Since != "" || x.Tables.Clear || x.Tables.Cluster != "" && x.Tables.Cluster != DefaultCluster:
		return console.Misused("--since, --cluster and --keep-secrets are about -o parquet")
	case len(args) == 0:
		return console.Misused("export needs a SOURCE")
	case len(args) > 1:
		return console.Misused("one SOURCE at a time, but got %d", len(args)).Hint("--seq and --filter choose entries")
	}
	x.Name = args[0]
	part := len(x.Seqs) > 0 || x.Filter != ""
	recording := x.Form == FormRecording
	switch {
	case x.Repairing && !recording:
		return console.Misused("--repair copies a recording, and -o %s writes another form: give one of them", x.Form)
	case x.Repairing && (part || x.Bare || x.Mask):
		return console.Misused("--repair copies all that is readable").Hint("repair first, and export from the copy")
	case x.Repairing && x.Pseudonymous, x.Mask && x.Pseudonymous:
		return console.Misused("--pseudonyms is a step of its own").Hint("repair or mask first, and export from the copy")
	case x.KeyFile != "" && !x.Pseudonymous:
		return console.Misused("--key-file is the key of --pseudonyms")
	case x.Pseudonymous && !recording && x.Filter != "":
		return console.Misused("--pseudonyms with --filter writes a recording: the filter has the names, and the copy has not").
			Hint("cut the part out first: xdsproxy export %s --pseudonyms --filter FILTER -w part.xdsp", console.ShellWord(x.Name))
	case x.Form == formBootstrap && (part || x.Mask):
		return console.Misused("-o bootstrap is made of the whole conversation").
			Hint("cut a part out first: xdsproxy export %s --seq SEQ -w part.xdsp", console.ShellWord(x.Name))
	case (x.Form == formScript || x.Form == formFolder || x.Form == formPackets) && (part || x.Mask):
		return console.Misused("-o %s writes the whole conversation", x.Form).
			Hint("cut a part out first: xdsproxy export %s --seq SEQ -w part.xdsp", console.ShellWord(x.Name))
	case x.Bare && !recording:
		return console.Misused("--no-context is about recordings: other forms have the chosen entries alone")
	case x.Mask && !recording:
		return console.Misused("--mask masks a recording").Hint("export from the copy that it makes")
	case x.EmbedAsked && !recording:
		return console.Misused("--embed-descriptors puts them into a recording, and -o %s has no room for them", x.Form)
	case x.Bare && !part:
		return console.Misused("--no-context without --seq or --filter: every entry is chosen")
	case x.Client != "" && x.Form != formBootstrap:
		return console.Misused("--client says whose bootstrap -o bootstrap writes").Hint("--filter client:%s chooses entries", console.ShellWord(x.Client))
	case x.Client != "" && x.Pseudonymous:
		return console.Misused("--client names a client, and the copy that --pseudonyms makes has no such names").
			Hint("write the bootstrap without stand-ins, or cut out that client first: xdsproxy export %s --filter client:%s --pseudonyms -w part.xdsp", console.ShellWord(x.Name), console.ShellWord(x.Client))
	case x.Form == formScript && !x.Pseudonymous:
		return x.script(ctx)
	case x.Form == formFolder && (x.Path == "" || x.Path == "-"):
		return console.Misused("-o dir needs -w DIR: where is the folder to go?")
	case x.Form == string(convert.BinaryLog) && (x.Path == "" || x.Path == "-"):
		return console.Misused("-o binarylog needs -w FILE: where is the log to go?")
	case x.Form == formPackets && (x.Path == "" || x.Path == "-"):
		return console.Misused("-o pcapng needs -w FILE: where is the capture to go?")
	case x.Form == formFolder && !x.Pseudonymous:
		return x.folder(ctx)
	case x.Form == formPackets && !x.Pseudonymous:
		return x.packets(ctx)
	case x.Repairing:
		return x.rescue(ctx)
	case recording && (x.Path == "" || x.Path == "-"):
		return console.Misused("a recording needs -w FILE: where is it to go?").
			Hint("text goes to standard output: -o %s", strings.Join(Forms[1:slices.Index(Forms, formBootstrap)+1], ", -o "))
	case x.Name == "-" && (recording || x.report() || x.Pseudonymous || x.Form == formBootstrap):
		return console.Misused("what comes through a pipe can be read only once, and -o %s reads it several times", x.Form).
			Hint("write it to a file first")
	}
	if _, live := input.ViewerAddr(x.Name); x.Name != "-" && !live && !input.IsURL(x.Name) && !input.IsMany(x.Name) { // it is opened several times: the newest must stay the same
		name, err := input.Path(x.Name)
		if err != nil {
			return err
		}
		x.Name = name
	}
	switch {
	case x.Pseudonymous:
		return x.pseudonyms(ctx)
	case recording:
		return x.cut(ctx)
	case x.Form == formBootstrap:
		return x.bootstrap(ctx)
	}
	return x.text(ctx)
}

// report says whether the form tells of the whole session, and reads it several
// times.
func (x *Export) report() bool { return x.Form == string(convert.Markdown) || x.Form == formPage }

func (x *Export) rescue(ctx context.Context) error {
	switch {
	case x.Path == "" || x.Path == "-":
		return console.Misused("export needs -w FILE: where is the copy to go?").Hint("%s", input.RepairCommand(x.Name))
	case x.Name == "-":
		return console.Misused("what comes through a pipe cannot be repaired").Hint("write it to a file first")
	}
	name, err := input.Path(x.Name)
	if err != nil {
		return err
	}
	return x.repair(ctx, name, x.Path)
}
