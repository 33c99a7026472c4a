package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

const manDir = "../../docs/man"

// The manual pages are made from the commands, their flags and the topics of
// help: one says what the other says. Cobra's own generator takes the texts for
// Markdown, which they are not: it would join the lines of their tables.
func TestManPages(t *testing.T) {
	a := &cli{stdout: io.Discard, stderr: io.Discard}
	a.config = settings.New()
	root := newRoot(a)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	pages := map[string]string{"xdsproxy.1": commandPage(root)}
	for _, c := range root.Commands() {
		if !c.Hidden {
			pages["xdsproxy-"+c.Name()+".1"] = commandPage(c)
		}
	}
	for _, topic := range topics() {
		pages["xdsproxy-"+topic.name+".7"] = topicPage(topic, topic.text(a))
	}
	for name, page := range pages {
		golden.Is(t, filepath.Join(manDir, name), page)
	}
	found, err := filepath.Glob(manDir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if _, known := pages[filepath.Base(path)]; !known {
			t.Errorf("%s is of nothing", path)
		}
	}
}

func commandPage(c *cobra.Command) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	manHead(&b, name, 1, c.Short)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n")
	for form := range strings.SplitSeq(c.UseLine(), " | "+c.Root().Name()+" ") {
		fmt.Fprintf(&b, "\\fB%s\\fR\n", manText(form))
	}
	b.WriteString(".fi\n.SH DESCRIPTION\n")
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	manBody(&b, text)
	if c.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, g := range append([]*cobra.Group{{Title: ""}}, c.Groups()...) {
			if g.Title != "" {
				fmt.Fprintf(&b, ".SS %s\n", manText(g.Title))
			}
			for _, sub := range c.Commands() {
				if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
					fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", manText(sub.Name()), manText(sub.Short))
				}
			}
		}
	}
	manFlags(&b, c)
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		manVerbatim(&b, c.Example)
	}
	b.WriteString(".SH SEE ALSO\n")
	var also []string
	if c.HasParent() {
		also = append(also, `\fBxdsproxy\fR(1)`)
	}
	for _, topic := range topics() {
		also = append(also, fmt.Sprintf(`\fBxdsproxy\-%s\fR(7)`, manText(topic.name)))
	}
	b.WriteString(strings.Join(also, ",\n") + "\n")
	return b.String()
}

func topicPage(t topic, text string) string {
	var b strings.Builder
	manHead(&b, "xdsproxy-"+t.name, 7, t.short)
	b.WriteString(".SH DESCRIPTION\n")
	manBody(&b, text)
	b.WriteString(".SH SEE ALSO\n\\fBxdsproxy\\fR(1)\n")
	return b.String()
}

func manHead(b *strings.Builder, name string, section int, short string) {
	fmt.Fprintf(b, ".\\\" Made from the program's help. Do not edit.\n.TH %s %d \"\" xdsproxy\n", strings.ToUpper(manText(name)), section)
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n", manText(name), manText(short))
}

// manFlags writes the flags in the groups of help.
func manFlags(b *strings.Builder, c *cobra.Command) {
	for i, g := range flagGroups(c) {
		if i == 0 {
			b.WriteString(".SH OPTIONS\n")
		}
		if g.title != "Flags" {
			fmt.Fprintf(b, ".SS %s\n", manText(g.title))
		}
		g.flags.VisitAll(func(f *pflag.Flag) { manFlag(b, f) })
	}
}

func manFlag(b *strings.Builder, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	b.WriteString(".TP\n")
	if f.Shorthand != "" {
		fmt.Fprintf(b, "\\fB\\-%s\\fR, ", f.Shorthand)
	}
	fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", manText(f.Name))
	if value != "" {
		fmt.Fprintf(b, " \\fI%s\\fR", manText(value))
	}
	switch f.DefValue {
	case "", "false", "0", "[]", "<nil>":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	fmt.Fprintf(b, "\n%s\n", manText(usage))
}

// manBody writes paragraphs. What is indented has its lines as they are, and so
// has a paragraph of which a part is.
func manBody(b *strings.Builder, text string) {
	for i, p := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if p = strings.Trim(p, "\n"); strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") {
			manVerbatim(b, p)
			continue
		}
		if i > 0 {
			b.WriteString(".PP\n")
		}
		for line := range strings.SplitSeq(p, "\n") {
			b.WriteString(manText(line) + "\n")
		}
	}
}

func manVerbatim(b *strings.Builder, text string) {
	b.WriteString(".PP\n.nf\n")
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString(manText(line) + "\n")
	}
	b.WriteString(".fi\n")
}

// manText keeps a text from being taken for a request.
func manText(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	var b strings.Builder
	if strings.HasPrefix(s, ".") {
		b.WriteString(`\&`)
	}
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
