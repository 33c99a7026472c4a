package playback

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/replay/bisect"
)

// bisectFacts is what bisect -o json prints.
type bisectFacts struct {
	Schema string `json:"schema"`
	*bisect.Result
	foundFiles
}

func (b *Bisect) print(found *bisect.Result, files foundFiles) error {
	return b.Show(b.Output, bisectFacts{render.Schema, found, files}, func() string { return bisectText(found, files) })
}

// bisectText is what was found as a person reads it.
func bisectText(f *bisect.Result, files foundFiles) string {
	var b strings.Builder
	client := f.Client
	if f.By != "" {
		client = f.By
	}
	if client == "" {
		client = "the client"
	}
	fmt.Fprintf(&b, "entry %d, a response of %s with %s, rejected in entry %d\n\n",
		f.Response, render.Safe(f.Type), render.Count(f.Resources, "resource", "resources"), f.NACK)
	for i := range f.Culprits {
		writeCulprit(&b, &f.Culprits[i])
	}
	if f.Removals {
		fmt.Fprintf(&b, "! rejected for what it leaves out or removes, whatever else is in it: %s\n", render.Safe(strings.Join(f.Removed, ", ")))
		writeIndented(&b, f.RemovalWords())
	}
	switch {
	case f.Accepted:
		fmt.Fprintf(&b, "expected NACK, got ACK: %s accepts all of it now\n", render.Safe(client))
	case f.Fickle != nil:
		fmt.Fprintf(&b, "! %s accepts %s one time and rejects the same another time: the search ended there\n", render.Safe(client), render.Safe(render.SomeOf(f.Fickle, 5)))
	case f.Rest && len(f.Culprits) == 1 && len(f.Culprits[0].Resources) == 1:
		b.WriteString("✓ without it the response is accepted\n")
	case f.Rest:
		b.WriteString("✓ without these the response is accepted\n")
	case !f.Removals:
		b.WriteString("! the search was not finished: there may be more\n")
	}
	for _, n := range f.Notes {
		b.WriteString("i " + render.Safe(n) + "\n")
	}
	fmt.Fprintf(&b, "\n%s", render.Count(f.Trials, "trial", "trials"))
	if files.Script != "" {
		fmt.Fprintf(&b, "; the smallest conversation is in %s", render.Safe(files.Script))
	}
	b.WriteString("\n")
	if files.Recording != "" {
		fmt.Fprintf(&b, "reject it again: xdsproxy replay %s --as server --listen 127.0.0.1:18000\n", render.Safe(console.ShellWord(files.Recording)))
	}
	return b.String()
}

// writeCulprit writes the resources of a culprit, and the client's words.
func writeCulprit(b *strings.Builder, c *bisect.Culprit) {
	how := "rejected alone"
	switch {
	case len(c.Resources) > 1:
		how = "rejected only together"
	case !c.Bare:
		how = "rejected"
	}
	if !c.Bare {
		how += ", beside what the client has"
	}
	for i, r := range c.Resources {
		line := fmt.Sprintf("%s (%s", r.Name, r.Type)
		if r.Version != "" {
			line += ", version " + shortened(r.Version)
		}
		lead := "! "
		if i > 0 {
			lead = "  "
		}
		b.WriteString(lead + render.Safe(line+")"))
		if i == len(c.Resources)-1 {
			b.WriteString(" " + how)
		} else {
			b.WriteString(" and")
		}
		b.WriteString("\n")
	}
	writeIndented(b, c.Words)
}

func writeIndented(b *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		b.WriteString("    " + render.Safe(strings.TrimSuffix(line, "\n")) + "\n")
	}
}

// shortened cuts a version that is a checksum.
func shortened(version string) string { return clip.Text(version, 24) }
