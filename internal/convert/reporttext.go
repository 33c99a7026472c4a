package convert

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

func number(n session.Seq) string { return strconv.FormatUint(uint64(n), 10) }

// text is the report: what was found and what proves it first, then who took part
// and how to look further. Outside of what code, fenced and folded make there is
// nothing in it but our own words and numbers.
func (a *account) text(parts []*part, o *Report) string {
	var head, tail, body strings.Builder
	line := func(b *strings.Builder) func(string, ...any) {
		return func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	}
	line(&head)("# xDS session report")
	if !o.Facts.Masked {
		line(&head)("\n**Secrets are not masked**: look through it before it is published.")
	}
	a.listFindings(line(&head))
	a.listNotes(line(&head), o)
	a.listClients(line(&tail))
	a.facts(line(&tail), o)
	a.commands(&tail, line(&tail), parts, o)
	room := reportText - head.Len() - tail.Len()
	for i, p := range parts {
		p.write(&body, room-body.Len()-(len(parts)-1-i)*reportHead, a)
	}
	return head.String() + body.String() + tail.String()
}

// reportHead is about what the words about a finding take.
const reportHead = 2 << 10

// write adds a part: its words, and of what shows it so much as there is room for,
// the most telling first.
func (p *part) write(b *strings.Builder, room int, a *account) {
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	from := b.Len()
	add := func(text string) bool {
		if b.Len()-from+len(text) > room {
			return false
		}
		b.WriteString(text)
		return true
	}
	if p.finding == nil {
		line("\n## The chosen entries\n")
	} else {
		p.explain(line)
	}
	missing := len(p.names()) - len(p.named)
	for _, n := range p.named {
		if !add(a.once(n, p.finding)) {
			missing++
		}
	}
	if missing > 0 {
		line("\nOf the resources that it names, %s not shown.", render.Count(missing, "more is", "more are"))
	}
	if p.finding != nil {
		line("\nUsual causes: %s\n\nWhat to do: %s", p.finding.Rule.Causes, p.finding.Rule.Next)
	}
	if p.like != nil {
		line("\nThe entries are those of `%s` above.", p.like.finding.Rule.ID)
		return
	}
	p.show(b, add, a)
}

func (a *account) facts(line func(string, ...any), o *Report) {
	line("\n## The recording\n")
	if !a.first.IsZero() {
		line("- from %s, for %s", a.first.UTC().Format(reportTime), render.Duration(a.last.Sub(a.first)))
	}
	what := ""
	switch {
	case o.Chosen != "":
		what = ", chosen by " + code(o.Chosen)
	case !a.cut:
		what = ", all of it"
	}
	if a.cut {
		what += ", of a longer recording"
	}
	line("- %s with %s%s", render.Count(a.done.Entries, "entry", "entries"), render.Count(a.done.Messages, "message", "messages"), what)
	switch {
	case o.Facts.Masked && a.done.Masked > 0:
		line("- secrets are masked, in %s", render.Count(a.done.Masked, "message", "messages"))
	case o.Facts.Masked:
		line("- secrets are masked, and there was none in these messages")
	}
	if a.lost > 0 {
		line("- at least %s of the session are missing", render.Count(a.lost, "entry", "entries"))
	}
	if o.Facts.Program != "" {
		line("- recorded by %s", code(o.Facts.Program))
	}
	line("- report by %s", code(o.Program))
}

func (a *account) listClients(line func(string, ...any)) {
	all := a.sortedClients()
	line("\n## Clients\n")
	if len(all) == 0 {
		line("None has named itself.")
	}
	for _, c := range all[:min(len(all), reportClients)] {
		agent := "of unknown kind"
		if c.agent != "" {
			agent = code(render.Middle(c.agent, reportWidth))
		}
		line("- %s, %s: %s, %s, %d accepted, %d rejected", code(render.Middle(c.id, reportWidth)), agent,
			render.Count(len(c.streams), "stream", "streams"), render.Count(c.messages, "message", "messages"), c.acc, c.rejected)
	}
	if more := len(all) - reportClients; more > 0 {
		line("- and %s", render.Count(more, "more", "more"))
	}
}

// sortedClients are all clients, those that rejected most first.
func (a *account) sortedClients() []*reportClient {
	return slices.SortedFunc(maps.Values(a.clients), func(x, y *reportClient) int {
		return cmp.Or(cmp.Compare(y.rejected, x.rejected), cmp.Compare(x.id, y.id))
	})
}

func (a *account) listFindings(line func(string, ...any)) {
	line("\n## Findings\n")
	if len(a.findings) == 0 {
		line("No rule found an error or a warning.")
		return
	}
	line("%s, %s.\n", render.Count(a.count[check.Error], "error", "errors"), render.Count(a.count[check.Warning], "warning", "warnings"))
	for i, p := range a.findings {
		f := p.finding
		about := ""
		switch n := len(f.Clients); {
		case n > 0:
			about = ", " + render.ClientCount(n, f.MoreClients)
		case f.Client != "":
			about = ", " + code(render.Middle(f.Client, reportWidth))
		}
		if f.Type != "" {
			about += ", " + code(render.Middle(f.Type, reportWidth/2))
		}
		times := ""
		if f.Count > max(len(f.Clients), 1) {
			times = fmt.Sprintf(", %d times", f.Count)
		}
		line("%d. %s `%s`: %s%s%s, at entry %d", i+1, f.Severity, f.Rule.ID, f.Rule.Title, about, times, f.Seqs[len(f.Seqs)-1])
	}
	if a.unlisted > 0 {
		line("\nAnd %d more.", a.unlisted)
	}
}

// listNotes tells what people marked and wrote, of the chosen entries.
func (a *account) listNotes(line func(string, ...any), o *Report) {
	beside := a.beside(o)
	if len(beside) == 0 {
		return
	}
	line("\n## Marks and notes\n")
	for i, seq := range slices.Sorted(maps.Keys(beside)) {
		if i == reportListed {
			line("\nAnd %s more.", render.Number(len(beside)-i))
			break
		}
		n, about := beside[seq], ""
		if n.Marked {
			about = ", marked"
		}
		if n.Text != "" {
			about += ": " + code(n.Text)
		}
		line("- entry %d%s", seq, about)
	}
}

// beside is what people left beside the chosen entries, in the recording and next
// to it.
func (a *account) beside(o *Report) map[session.Seq]notes.Note {
	from := o.Notes
	if from == nil {
		from = notes.New(time.Time{})
	}
	beside := from.Over(a.said)
	if o.Chosen != "" {
		maps.DeleteFunc(beside, func(seq session.Seq, _ notes.Note) bool {
			_, is := slices.BinarySearch(a.all, seq)
			return !is
		})
	}
	return beside
}

// explain heads the part about a finding.
func (p *part) explain(line func(string, ...any)) {
	f := p.finding
	line("\n## %s: %s\n", f.Rule.ID, f.Rule.Title)
	whose := "of the " + string(f.Fault)
	if f.Fault == check.ConfigFault {
		whose = "in the configuration"
	}
	line("%s, fault %s. %s\n", f.Severity, whose, f.Rule.Means)
	line("%s", strings.TrimSuffix(fenced("text", render.Wrapped(f.Message, reportWidth)), "\n"))
	if from := render.MadeFrom(f.Sources, f.MoreSources, render.FewSources); from != "" {
		line("\nWhose it is: %s", code(from))
	}
	if n := len(f.Clients); n > 0 {
		line("\nOn %s: %s. What the first of them saw is drawn below.", render.ClientCount(n, f.MoreClients), code(render.SomeOf(f.Clients, 8)))
	}
}

// once is the text about a resource, if no part before this one has it.
func (a *account) once(n *named, f *check.Finding) string {
	text := n.text(f)
	if text == "" {
		return ""
	}
	if a.shown[text] {
		return fmt.Sprintf("\n%s %s stands above.\n", code(n.now.Type), code(render.Middle(n.name, reportWidth)))
	}
	a.shown[text] = true
	return text
}

// show is the ladder of a part, and its messages in full.
func (p *part) show(b *strings.Builder, add func(string) bool, a *account) {
	if !add("\n" + fenced("text", p.ladder.Text(render.LadderForm{Columns: reportWidth}))) {
		b.WriteString("\nNot drawn: the report would be too long.\n")
	}
	if p.finding == nil {
		p.left += int(a.done.Entries) - len(p.seqs)
	}
	if p.left > 0 {
		fmt.Fprintf(b, "\n%s more not drawn.\n", render.Count(p.left, "entry", "entries"))
	}
	b.WriteString("\n")
	for _, m := range p.full {
		if !add(folded(m.title, fenced("yaml", m.text))) {
			p.more++
		}
	}
	if len(p.above) > 0 {
		words := make([]string, len(p.above))
		for i, seq := range p.above {
			words[i] = number(seq)
		}
		fmt.Fprintf(b, "\nIn full above: %s.\n", strings.Join(words, ", "))
	}
	if n := len(p.large); n > 0 {
		words := make([]string, n)
		for i, seq := range p.large {
			words[i] = number(seq)
		}
		fmt.Fprintf(b, "\nNot shown in full, since a report holds no message of more than %s: %s.\n", render.Size(reportWhole), strings.Join(words, ", "))
	}
	if p.more > 0 {
		fmt.Fprintf(b, "\n%s more not shown in full.\n", render.Count(p.more, "message", "messages"))
	}
}

// commands says how to look at the recording.
func (a *account) commands(b *strings.Builder, line func(string, ...any), parts []*part, o *Report) {
	line("\n## How to look at it\n")
	if o.Attached {
		line("In the folder of the unpacked zip. `%s` opens in a browser, `%s` has the command that shows it again.\n", PageFile, ReproduceFile)
	}
	var c strings.Builder
	fmt.Fprintf(&c, "xdsproxy watch %s\nxdsproxy check %s\n", o.Source, o.Source)
	for _, p := range parts {
		if p.like != nil {
			continue
		}
		var seqs []session.Seq
		for seq := range p.seqs {
			seqs = append(seqs, seq)
		}
		slices.Sort(seqs)
		if len(seqs) == 0 {
			continue
		}
		var words, ranges []string
		for _, seq := range seqs[:min(len(seqs), reportMessages)] {
			words = append(words, number(seq))
		}
		for _, seq := range seqs {
			ranges = append(ranges, number(seq))
		}
		if p.finding != nil {
			fmt.Fprintf(&c, "\nxdsproxy explain %s\n", p.finding.Rule.ID)
		} else {
			c.WriteString("\n")
		}
		fmt.Fprintf(&c, "xdsproxy show %s %s\n", o.Source, strings.Join(words, " "))
		if o.Attached {
			continue
		}
		fmt.Fprintf(&c, "xdsproxy export %s --seq %s -w part.xdsp\n", o.Source, strings.Join(ranges, ","))
	}
	b.WriteString(fenced("sh", c.String()))
}
