package render

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
)

// Rules are rules for a machine.
type Rules struct {
	Schema string `json:"schema"`
	Rules  []Rule `json:"rules"`
}

// Rule is what there is to know about a rule. Off says that it runs only when
// asked for.
type Rule struct {
	ID         string `json:"id"`
	Group      string `json:"group"`
	Title      string `json:"title"`
	Severity   string `json:"severity"`
	Fault      string `json:"fault"`
	Confidence string `json:"confidence"`
	Scope      string `json:"scope"`
	Spec       string `json:"spec,omitempty"`
	Means      string `json:"means"`
	Causes     string `json:"causes"`
	Next       string `json:"next"`
	Off        bool   `json:"off,omitempty"`
}

// NewRules describes rules, in their order.
func NewRules(rules []*check.Rule) *Rules {
	out := &Rules{Schema: Schema, Rules: []Rule{}}
	for _, r := range rules {
		out.Rules = append(out.Rules, Rule{
			ID: r.ID, Group: r.Group, Title: r.Title, Severity: r.Severity.String(), Fault: string(r.Fault), Confidence: string(r.Confidence),
			Scope: r.Scope, Spec: r.Spec, Means: r.Means, Causes: r.Causes, Next: r.Next, Off: r.Off,
		})
	}
	return out
}

// confidenceWords say how a rule knows.
func confidenceWords(c check.Confidence) string {
	switch c {
	case check.Timed:
		return "told by waiting, so by the timers too"
	case check.Guessed:
		return "a guess from what was seen, never an error"
	}
	return "told by the messages alone"
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

// RuleList lists the rules by group, on lines of so many columns; 0 stands for
// a pipe or a file, where each rule has one line.
func RuleList(rules []*check.Rule, s Style, columns int) string {
	const idWidth = 38
	indent := strings.Repeat(" ", len("  ! ")+idWidth+1)
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
		text := r.Title
		if r.Off {
			text += " (off)"
		}
		if columns > len(indent)+namesWidth {
			text = strings.TrimPrefix(strings.TrimSuffix(wrap(text, indent, columns), "\n"), indent)
		}
		fmt.Fprintf(&b, "  %s %s %s\n", s.paint(look, sign), PadRight(r.ID, idWidth), text)
	}
	return b.String()
}

// RulePage is what there is to know about a rule, for a person.
func RulePage(r *check.Rule, s Style, width int) string {
	var b strings.Builder
	_, look := severityLook(r.Severity.String())
	head := strings.TrimPrefix(wrap(r.ID+": "+r.Title, "", width), r.ID)
	fmt.Fprintf(&b, "%s%s\n%s", s.paint(title, r.ID), head, wrap(r.Means, "", width))
	for _, p := range [][2]string{{"Usual causes", r.Causes}, {"What to do", r.Next}} {
		fmt.Fprintf(&b, "\n%s\n%s", s.paint(title, p[0]), wrap(p[1], "  ", width))
	}
	usual := withArticle(r.Severity.String())
	line := fmt.Sprintf("Usually %s, and the fault of %s; %s.", usual, faultWords(r.Fault), confidenceWords(r.Confidence))
	fmt.Fprintf(&b, "\n%s", strings.Replace(wrap(line, "", width), usual, s.paint(look, usual), 1))
	b.WriteString(wrap(fmt.Sprintf("Looks at %s. In the protocol: %s.", scopeWords(r.Scope), strings.TrimSuffix(r.Spec, ".")), "", width))
	if r.Off {
		fmt.Fprintf(&b, "It is off unless asked for: xdsproxy check SOURCE --enable %s\n", r.ID)
	}
	return b.String()
}

// scopeWords are the conversations that a rule looks at.
func scopeWords(scope string) string {
	parts := strings.Split(scope, ", ")
	for i, p := range parts {
		switch p {
		case "all":
			p = "all discovery streams"
		case "per-type":
			p = "streams of one type"
		case "ADS":
			p = "aggregated streams"
		case "SotW":
			p = "state-of-the-world streams"
		case "SotW reconnects":
			p = "reconnects in the state of the world"
		case "Delta":
			p = "delta streams"
		case "REST":
			p = "REST polls"
		case "file":
			p = "watched files"
		case "LRS":
			p = "load reports"
		case "CSDS":
			p = "client status"
		}
		parts[i] = p
	}
	return strings.Join(parts, ", ")
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

// Wrapped is a text of outside in lines of so many columns, a longer word in a
// line of its own.
func Wrapped(text string, columns int) string { return wrap(Safe(text), "", columns) }
