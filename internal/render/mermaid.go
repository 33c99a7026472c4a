package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// The longest texts in a diagram: it is laid out by their width.
const (
	mermaidName    = 60
	mermaidLabel   = 100
	mermaidFinding = 240
	mermaidClients = 8 // that have a line of their own
	// what Mermaid itself writes entities with between two steps
	mermaidOwn = "ﬂ°¶ß"
)

// Mermaid is the ladder as a sequenceDiagram of Mermaid, which GitHub and
// GitLab draw from a fenced block. An arrow leads from end to end, through the
// line of the proxy.
func (l *Ladder) Mermaid() string {
	clients, server := l.ends()
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	letters := make(map[string]string, len(clients))
	for i, name := range clients {
		if letters[name] = fmt.Sprintf("C%d", i+1); i < mermaidClients {
			fmt.Fprintf(&b, "    participant C%d as %s\n", i+1, MermaidText(Middle(name, mermaidName)))
		} else if letters[name] = "C0"; i == mermaidClients {
			b.WriteString("    participant C0 as other clients\n")
		}
	}
	fmt.Fprintf(&b, "    participant P as %s\n    participant S as %s\n", ladderProxy, MermaidText(Middle(server, mermaidName)))
	if len(l.steps) == 0 {
		fmt.Fprintf(&b, "    Note over P,S: %s\n", ladderNothing)
		return b.String()
	}
	before := l.steps[0].at
	several := l.several()
	note := func(sign, text string, most int) {
		if sign != "" {
			sign += " "
		}
		fmt.Fprintf(&b, "    Note over P,S: %s\n", MermaidText(sign+End(text, most)))
	}
	for i := range l.steps {
		s := &l.steps[i]
		where := fmt.Sprintf(" (%d, +%s", s.seq, duration(s.at.Sub(before)))
		if several && s.stream != 0 {
			where += fmt.Sprintf(", stream %d", s.stream)
		}
		where += ")"
		before = s.at
		text := End(s.label(""), mermaidLabel)
		if s.from == session.SideUnknown {
			note(s.sign, text+where, mermaidLabel+len(where))
		} else {
			if s.sign != "" {
				text = s.sign + " " + text
			}
			fmt.Fprintf(&b, "    %s: %s\n", s.mermaidArrow(letters[l.who(s)]), MermaidText(text+where))
		}
		for j := range s.findings {
			f := &s.findings[j]
			sign, _ := severityLook(f.Severity.String())
			note(sign, f.Rule.ID+": "+Safe(f.Message), mermaidFinding)
		}
	}
	return b.String()
}

// duration is Duration in one word.
func duration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return strings.ReplaceAll(Duration(d), " ", "")
}

func (s *step) mermaidArrow(client string) string {
	if client == "" {
		client = "C1"
	}
	switch {
	case s.nack:
		return client + "-xS"
	case s.from == session.Client:
		return client + "->>S"
	}
	return "S->>" + client
}

// MermaidText makes any text harmless in a line of Mermaid, which would take a
// semicolon for the end of a statement, a hash for the begin of an entity, and
// angle brackets for HTML: what is neither a letter, nor a digit, nor among a
// few signs becomes the entity of its number, which is drawn as the character.
func MermaidText(s string) string {
	s = Safe(s)
	var b strings.Builder
	for i, r := range s {
		// "end" closes a block where a line begins with it.
		if i == 0 && r < 0x80 && strings.EqualFold(s[:min(len(s), 3)], "end") {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r > 0x9f && !strings.ContainsRune(mermaidOwn, r), strings.ContainsRune(" _./!~+*()?'=", r):
			b.WriteRune(r)
		case r == ',' && i > 0, r == '-' && i > 0 && !strings.HasPrefix(s[i:], "--") && !strings.HasSuffix(s[:i], "-"):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	if b.Len() == 0 {
		return "-"
	}
	return b.String()
}
