package convert

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Report is what a report tells beside the entries.
type Report struct {
	Program string         // that writes it, with its version and that of Go
	Source  string         // as a person gives it to a command, quoted where a shell needs that
	Facts   recorder.Facts // of the source
	// Chosen is how the entries were chosen, in words; "" for all. Only then
	// there is a part about them beside those about the findings.
	Chosen string
	// Attached says that Source is in a zip, with a page and how to see it again.
	Attached bool
	// Notes are what people left beside the source.
	Notes *notes.Notes
	// Findings are those of the walk that was done last, as they are at its
	// end.
	Findings func() []check.Finding
}

// Names of files in the zip that a report may be in.
const (
	PageFile      = "report.html"
	ReproduceFile = "REPRODUCE.md"
)

// What a report has at most, so that it fits into an issue.
const (
	reportFindings = 5 // with a ladder
	reportListed   = 50
	reportSteps    = 40 // of a ladder
	reportMessages = 6  // of a part, in full
	reportLines    = 150
	reportBytes    = 12 << 10
	reportWhole    = 4 << 20 // of a message that is decoded: gRPC receives no larger one unless told to
	reportClients  = 20
	reportText     = 60_000  // bytes of all of it
	maxTold        = 1 << 16 // clients that are told apart
	reportWidth    = 100
	reportTime     = "2006-01-02 15:04:05.000 MST"
)

// account is what the first walk gathers.
type account struct {
	done        Result
	clients     map[string]*reportClient
	first, last time.Time
	lost        uint64
	cut         bool
	chosen      map[session.Seq]bool // as many as a ladder may show
	all         []session.Seq        // every chosen one, if they are not all
	told        map[session.Seq]bool // that are shown in full
	shown       map[string]bool      // texts about resources
	findings    []*part
	unlisted    int
	count       [check.Error + 1]int // of the findings, by severity
	said        *notes.Notes         // by the recording
}

// scope says which findings a form lists: the least severity, and how many.
type scope struct {
	least  check.Severity
	listed int
}

type reportClient struct {
	id, agent               string
	streams                 map[session.StreamID]bool
	messages, rejected, acc int
}

// part is one section with a ladder: a finding, or what was chosen.
type part struct {
	finding *check.Finding
	seqs    map[session.Seq]bool // that it is about
	excerpt *engine.Excerpt
	drawn   map[session.Seq]bool // what is drawn, what explains it included
	left    int                  // not drawn
	ladder  *render.Ladder
	full    []message
	above   []session.Seq // messages that an earlier part has
	large   []session.Seq // messages that are too large for a report
	more    int           // messages that are not in full
	like    *part         // an earlier one about the same entries
	named   []*named      // resources that the finding names
}

type message struct {
	title, text string
}

// writeReport walks once for what there is, and tells of the findings and of what
// was chosen.
func writeReport(w io.Writer, walk Walk, o Report) (Result, error) {
	a, err := gather(walk, &o, scope{check.Warning, reportListed})
	if err != nil {
		return a.done, err
	}
	parts := a.findings[:min(len(a.findings), reportFindings)]
	for i, p := range parts {
		if j := slices.IndexFunc(parts[:i], func(q *part) bool { return maps.Equal(p.seqs, q.seqs) }); j >= 0 {
			p.like = parts[j]
		}
	}
	if o.Chosen != "" && len(a.chosen) > 0 && !slices.ContainsFunc(parts, func(q *part) bool { return maps.Equal(a.chosen, q.seqs) }) {
		parts = append(slices.Clip(parts), &part{seqs: a.chosen})
	}
	if len(parts) > 0 {
		if err := a.tell(walk, parts); err != nil {
			return a.done, err
		}
	}
	text := a.text(parts, &o)
	_, err = io.WriteString(w, text)
	a.done.Bytes = int64(len(text))
	return a.done, err
}

// gather walks once, for what there is.
func gather(walk Walk, o *Report, room scope) (*account, error) {
	a := &account{
		clients: make(map[string]*reportClient), chosen: make(map[session.Seq]bool),
		told: make(map[session.Seq]bool), shown: make(map[string]bool), said: notes.New(time.Time{}),
	}
	err := walk(func(e *session.Entry, c *check.Change, chosen bool) error {
		if chosen && o.Chosen != "" {
			a.all = append(a.all, e.Seq)
		}
		return a.visit(e, c, chosen)
	})
	if err == nil && o.Findings != nil {
		a.judge(o.Findings(), o.Chosen == "", room)
	}
	return a, err
}

// explain walks once, for what explains the parts.
func explain(walk Walk, parts []*part) error {
	for _, p := range parts {
		p.excerpt = engine.NewExcerpt()
		if p.finding != nil {
			p.named = namedBy(p.finding)
		}
	}
	err := walk(func(e *session.Entry, c *check.Change, _ bool) error {
		for _, p := range parts {
			p.excerpt.Step(e, &c.Change, p.seqs[e.Seq])
			for _, n := range p.named {
				n.step(e, c)
			}
		}
		return nil
	})
	for _, p := range parts {
		p.choose()
	}
	return err
}

// tell walks twice more: for what explains the parts, and for drawing them.
func (a *account) tell(walk Walk, parts []*part) error {
	if err := explain(walk, parts); err != nil {
		return err
	}
	for _, p := range parts {
		p.ladder = render.NewLadder()
	}
	documents, table := render.NewDocuments(), render.NewTable(0, render.Style{})
	err := walk(func(e *session.Entry, c *check.Change, _ bool) error {
		documents.See(e)
		table.See(e, c)
		for _, p := range parts {
			if err := p.draw(e, c, documents, table, a.told); err != nil {
				return err
			}
		}
		return nil
	})
	for _, p := range parts {
		for _, seq := range p.large {
			if !slices.Contains(a.done.Large, seq) {
				a.done.Large = append(a.done.Large, seq)
			}
		}
	}
	return err
}

func (a *account) visit(e *session.Entry, c *check.Change, chosen bool) error {
	a.said.Said(e.Note)
	if e.Gap != nil {
		if e.Gap.Cause.Chosen() {
			a.cut = true
		} else {
			a.lost += e.Gap.Entries
		}
	}
	if !chosen {
		return nil
	}
	a.done.Entries++
	a.done.count(e)
	if a.first.IsZero() {
		a.first = e.Time
	}
	a.last = e.Time
	if len(a.chosen) < reportSteps {
		a.chosen[e.Seq] = true
	}
	if c.Client == "" {
		return nil
	}
	cl := a.clients[c.Client]
	if cl == nil {
		if len(a.clients) >= maxTold {
			return nil
		}
		cl = &reportClient{id: c.Client, streams: make(map[session.StreamID]bool)}
		a.clients[c.Client] = cl
	}
	if n := c.Node; n != nil && cl.agent == "" {
		cl.agent = strings.TrimSpace(n.UserAgent + " " + n.UserAgentVersion)
	}
	if e.Stream != 0 && len(cl.streams) < maxTold {
		cl.streams[e.Stream] = true
	}
	if e.Message != nil {
		cl.messages++
	}
	switch c.What {
	case engine.NACK:
		cl.rejected++
	case engine.ACK:
		cl.acc++
	}
	return nil
}

// judge keeps the findings that matter, worst first, of which an entry was
// chosen: of each cause one.
func (a *account) judge(found []check.Finding, all bool, room scope) {
	found = check.Fold(slices.DeleteFunc(found, func(f check.Finding) bool {
		return f.Severity < room.least || len(f.Seqs) == 0 || !all && !a.about(&f)
	}))
	slices.SortStableFunc(found, func(x, y check.Finding) int { return cmp.Compare(y.Severity, x.Severity) })
	for i := range found {
		f := &found[i]
		a.count[f.Severity]++
		if len(a.findings) >= room.listed {
			a.unlisted++
			continue
		}
		p := &part{finding: f, seqs: make(map[session.Seq]bool)}
		for _, seq := range f.Seqs[:min(len(f.Seqs), reportSteps/2)] {
			p.seqs[seq] = true
		}
		p.seqs[f.Seqs[len(f.Seqs)-1]] = true
		a.findings = append(a.findings, p)
	}
}

// about says whether an entry of a finding was chosen.
func (a *account) about(f *check.Finding) bool {
	chosen := func(seq session.Seq) bool {
		_, is := slices.BinarySearch(a.all, seq)
		return is
	}
	return slices.ContainsFunc(f.Seqs, chosen) || chosen(f.LastSeq)
}

// choose decides what is drawn: the entries that it is about first, then what
// explains them, the latest first.
func (p *part) choose() {
	p.drawn = make(map[session.Seq]bool)
	for seq := range p.seqs {
		p.drawn[seq] = true
	}
	for _, n := range p.named {
		n.choose()
	}
	context := p.excerpt.Context()
	slices.Reverse(context)
	for _, seq := range context {
		if len(p.drawn) >= reportSteps {
			p.left++
			continue
		}
		p.drawn[seq] = true
	}
	p.excerpt = nil
}

func (p *part) draw(e *session.Entry, c *check.Change, documents *render.Documents, table *render.Table, told map[session.Seq]bool) error {
	for _, n := range p.named {
		n.meet(e, c)
	}
	if p.like != nil {
		return nil
	}
	p.ladder.See(e, c)
	if !p.drawn[e.Seq] {
		return nil
	}
	shown := *c
	if p.finding != nil { // others are told elsewhere
		shown.Findings = slices.DeleteFunc(slices.Clone(c.Findings), func(f check.Finding) bool { return f.Rule.ID != p.finding.Rule.ID })
	}
	p.ladder.Add(e, &shown)
	if !p.seqs[e.Seq] || e.Message == nil {
		return nil
	}
	if told[e.Seq] {
		p.above = append(p.above, e.Seq)
		return nil
	}
	if len(p.full) >= reportMessages {
		p.more++
		return nil
	}
	if e.Message.Data.Len() > reportWhole || e.Message.Large() {
		p.large = append(p.large, e.Seq)
		return nil
	}
	shown.Findings = nil
	doc, err := documents.Document(e, &shown)
	if err != nil {
		return err
	}
	doc.Brief(c, p.names())
	told[e.Seq] = true
	title := number(e.Seq) + " " + render.Middle(render.Safe(table.Summary(e, c)), reportWidth)
	p.full = append(p.full, message{title: title, text: cutText(string(doc.YAML()), reportLines, reportBytes)})
	return nil
}

// names are those of the resources that a part is about.
func (p *part) names() []string {
	if p.finding == nil {
		return nil
	}
	return p.finding.Names
}

// cutText is the beginning of a long text, in whole lines.
func cutText(text string, most, bytes int) string {
	lines := 0
	for i := range len(text) {
		if text[i] != '\n' {
			continue
		}
		if lines++; lines >= most || i >= bytes {
			if rest := strings.Count(text[i+1:], "\n"); rest > 0 {
				return text[:i+1] + "# " + render.Count(rest, "line", "lines") + " more\n"
			}
			break
		}
	}
	if len(text) > 2*bytes {
		return strings.ToValidUTF8(text[:bytes], "") + "\n# and " + render.Size(int64(len(text)-bytes)) + " more\n"
	}
	return text
}
