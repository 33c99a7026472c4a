package render

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
)

// confidenceWords say how a rule knows.
func confidenceWords(c check.Confidence) string {
	switch c {
	case check.Timed:
		return "needs a timer"
	case check.Guessed:
		return "a heuristic"
	}
	return "follows from the messages alone"
}

func faultWords(f check.Fault) string {
	switch f {
	case check.ConfigFault:
		return "a configuration"
	case check.SenderFault:
		return "whoever sent it"
	}
	return "the " + string(f)
}

// RuleList lists the rules by group, one line each.
func RuleList(rules []*check.Rule, s Style) string {
	var b strings.Builder
	group := ""
	for _, r := range rules {
		if r.Group != group {
			if group != "" {
				b.WriteByte('\n')
			}
			group = r.Group
			fmt.Fprintf(&b, "%s\n", s.paint(title, group))
		}
		sign, look := severityLook(r.Severity.String())
		off := ""
		if r.Off {
			off = s.paint(muted, " (off)")
		}
		fmt.Fprintf(&b, "  %s %-38s %s%s\n", s.paint(look, sign), r.ID, r.Title, off)
	}
	return b.String()
}

// RulePage is what there is to know about a rule, for a person.
func RulePage(r *check.Rule, s Style, width int) string {
	var b strings.Builder
	_, look := severityLook(r.Severity.String())
	fmt.Fprintf(&b, "%s: %s\n\n", s.paint(title, r.ID), r.Title)
	for _, p := range []string{r.Means, r.Causes, r.Next} {
		b.WriteString(wrap(p, "", width) + "\n")
	}
	fmt.Fprintf(&b, "Usually %s, and the fault of %s; %s.\n",
		s.paint(look, withArticle(r.Severity.String())), faultWords(r.Fault), confidenceWords(r.Confidence))
	fmt.Fprintf(&b, "Looks at: %s. In the protocol: %s.\n", r.Scope, r.Spec)
	if r.Off {
		fmt.Fprintf(&b, "It is off unless asked for: --enable %s\n", r.ID)
	}
	return b.String()
}

func withArticle(severity string) string {
	switch severity {
	case "error":
		return "an error"
	case "warning":
		return "a warning"
	}
	return "a note"
}

// wrap breaks a paragraph into lines of at most width columns.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		switch {
		case used == 0:
			b.WriteString(indent)
			used = Width(indent)
		case used+1+Width(word) > width:
			b.WriteString("\n" + indent)
			used = Width(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += Width(word)
	}
	b.WriteByte('\n')
	return b.String()
}

// RuleReference is docs/rules.md.
func RuleReference(rules []*check.Rule) string {
	var b strings.Builder
	b.WriteString("# Rules\n\nWhat xdsproxy looks for in a conversation. `xdsproxy explain RULE` prints the same. This page is generated from the rules (`go test ./internal/render -run RuleReference -update`).\n\n")
	b.WriteString("*Error*: a broken \"must\" of the protocol, or a state that a peer cannot recover from. *Warning*: works today, hurts or is fragile. *Info*: worth a line, never a failure. Most severities depend on what was seen; the usual one is given. *D*: follows from content and order of the messages alone; *T*: needs a timer; *H*: a heuristic, never an error.\n\n")
	group := ""
	for _, r := range rules {
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(&b, "## %s\n\n| rule | | what is wrong |\n|---|---|---|\n", group)
			for _, o := range rules {
				if o.Group == group {
					fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", o.ID, o.ID, o.Severity, o.Title)
				}
			}
			b.WriteByte('\n')
		}
		off := ""
		if r.Off {
			off = " · off unless enabled"
		}
		fmt.Fprintf(&b, "### `%s`\n\n%s.\n\n*Fault of %s · %s · %s · %s%s*\n\n%s\n\n**Usual causes.** %s\n\n**What to do.** %s\n\nIn the protocol: %s.\n\n",
			r.ID, upperFirst(r.Title), faultWords(r.Fault), r.Severity, r.Confidence, r.Scope, off, r.Means, r.Causes, r.Next, strings.TrimSuffix(r.Spec, "."))
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
