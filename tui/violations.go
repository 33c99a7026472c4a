package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// violations is the list of findings, and what there is to know about the one
// that is selected.
type violations struct {
	win    widget.Window
	at     picked // the finding that is selected
	list   findingList
	placed findingQuery // of the list in which the selection was looked for

	words   string
	hidden  []hiding
	sort    findingOrder
	turned  bool
	known   map[int]bool // causes silenced by the screen alone
	asked   findingQuery // that the list was made for, or is being made
	listing bool         // a command is at it
	listed  int          // rows that the last drawing left for the list
	titled  bool         // it had titles above
}

// findingQuery is what decides which rows there are, and in which order.
type findingQuery struct {
	generation uint64
	words      string
	sort       findingOrder
	turned     bool
	hidden     int
	known      int
}

// findingList is the rows: findings by their place among all, which are one a cause.
type findingList struct {
	query findingQuery
	all   []check.Finding
	known []bool // by place
	rows  []int32
	muted int // rows that are hidden
}

// picked is by what a finding is found again, whatever is proved meanwhile.
type picked struct {
	rule         *check.Rule
	client, name string
	at           time.Time
}

func pick(f *check.Finding) picked {
	p := picked{rule: f.Rule, client: f.Client, at: f.At}
	if len(f.Names) > 0 {
		p.name = f.Names[0]
	}
	return p
}

// hiding is a rule that is not to be shown, of one client, or of all that a
// finding is about, if it is the first of them.
type hiding struct{ rule, client string }

// findingOrder is what findings are sorted by.
type findingOrder uint8

const (
	gravestFirst findingOrder = iota
	latestFinding
	byRule
	byClient
	mostOften
)

func (o findingOrder) String() string {
	return [...]string{"worst first", "latest first", "rule", "client", "count"}[o]
}

func newViolations() *violations { return &violations{titled: true, known: make(map[int]bool)} }

func (v *violations) title() string { return "Violations" }

func (v *violations) keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Filter, Hint: "filter", Help: "words that a finding must have"},
		{Act: key.Open, Hint: "messages", Help: "the messages involved"},
		{Act: key.Sort, Hint: "sort", Help: "the worst first, the latest, by rule, by client, by count"},
		{Act: key.Only, Hint: "only", Help: "only this rule; again: only this client"},
		{Act: key.Not, Hint: "not", Help: "nothing of this rule and client"},
		{Act: key.Diff, Hint: "diff", Help: "what changed in the resource"},
		{Act: key.Resources, Hint: "resources"},
		{Act: key.Copy, Hint: "copy", Help: "copy the finding"},
		{Act: key.Unfilter, Help: "show again what x has hidden"},
		{Act: key.Violation, Help: "the next one in this list"},
		{Act: key.Reverse},
		{Act: key.Ladder},
	})
}

// want is the query for the list as it is to be now.
func (v *violations) want(m *Model) findingQuery {
	return findingQuery{m.seen.generation, v.words, v.sort, v.turned, len(v.hidden), len(v.known)}
}

// tick makes the list anew, beside the loop, if it may be another one.
func (v *violations) tick(m *Model) tea.Cmd {
	v.settle()
	q := v.want(m)
	if v.listing || q == v.asked {
		return nil
	}
	v.listing, v.asked = true, q
	all, hidden, own := m.seen.folded, slices.Clone(v.hidden), make(map[int]bool, len(v.known))
	for k := range v.known {
		own[k] = true
	}
	return answer(v, func() any { return makeFindingList(q, all, hidden, own, m.log.Index.Silences()) })
}

func (v *violations) handle(m *Model, msg any) tea.Cmd {
	if l, is := msg.(findingList); is {
		v.list, v.listing = l, false
		v.settle()
		return v.tick(m)
	}
	return nil
}

// settle puts the window where the selection is.
func (v *violations) settle() {
	if v.at.rule != nil && v.placed != v.list.query { // looking for it in each frame would take long
		if i := slices.IndexFunc(v.list.rows, func(at int32) bool { return pick(&v.list.all[at]) == v.at }); i >= 0 {
			v.win.At = i
		}
	}
	v.placed = v.list.query
	v.win.Fit(len(v.list.rows), v.win.Rows)
}

func (v *violations) keep() {
	if f := v.finding(); f != nil {
		v.at = pick(f)
	}
}

// finding is the one that is selected, nil if there is none.
func (v *violations) finding() *check.Finding {
	if v.win.At >= len(v.list.rows) {
		return nil
	}
	return &v.list.all[v.list.rows[v.win.At]]
}

func (v *violations) do(m *Model, a key.Action) tea.Cmd {
	v.settle()
	if v.win.Move(a, len(v.list.rows)) {
		v.keep()
		return nil
	}
	switch a {
	case key.Filter:
		return m.open(rowFilter, v.words)
	case key.Sort:
		v.sort = (v.sort + 1) % (mostOften + 1)
		m.say("sorted: %s", v.sort)
		return nil
	case key.Reverse:
		v.turned = !v.turned
		return nil
	case key.Unfilter:
		if len(v.hidden) == 0 {
			m.say("nothing is hidden here")
			return nil
		}
		last := v.hidden[len(v.hidden)-1]
		v.hidden = v.hidden[:len(v.hidden)-1]
		m.say("%s is shown again", m.hidingText(last))
		return nil
	}
	f := v.finding()
	if f == nil {
		m.say("no rule has found anything here")
		return nil
	}
	v.keep()
	switch a {
	case key.Open:
		return m.openFinding(f)
	case key.Violation:
		v.next(m)
	case key.Only:
		return v.only(m, f)
	case key.Not:
		h := hiding{f.Rule.ID, f.Client}
		v.hidden = append(v.hidden, h)
		if n := len(f.Clients); n > 0 {
			m.say("%s of %s is hidden; u shows it again", h.rule, render.ClientCount(n, f.MoreClients))
			return nil
		}
		m.say("%s is hidden; u shows it again", m.hidingText(h))
	case key.Diff:
		if len(f.Names) == 0 {
			m.say("%s is about no resource in particular", f.Rule.ID)
			return nil
		}
		return m.openDiff(v.selected(m), false)
	case key.Ladder:
		return m.openLadder(v.selected(m))
	case key.Resources:
		if f.Client == "" {
			m.say("the client has not said who it is")
			return nil
		}
		return m.openResources(f.Client)
	case key.Copy:
		return m.copy(m.findingText(f), "the finding")
	}
	return nil
}

func (m *Model) hidingText(h hiding) string {
	if h.client == "" {
		return h.rule
	}
	return h.rule + " of " + m.aliases.Name(h.client)
}

// only keeps the rule of a finding, then its client.
func (v *violations) only(m *Model, f *check.Finding) tea.Cmd {
	for _, w := range []string{f.Rule.ID, f.Client} {
		if w != "" && !slices.Contains(strings.Fields(v.words), w) {
			v.words = join(v.words, w)
			return nil
		}
	}
	m.say("the filter says all that already")
	return nil
}

// next selects the row below, or the first one after the last.
func (v *violations) next(m *Model) {
	if v.win.At++; v.win.At >= len(v.list.rows) {
		v.win.At = 0
		m.say("that was the last one; this is the first")
	}
	v.keep()
}

func (v *violations) selected(*Model) selection {
	f := v.finding()
	if f == nil {
		return selection{}
	}
	s := selection{client: f.Client, seq: f.LastSeq, typ: f.Type}
	if n := len(f.Seqs); n > 0 && len(f.Clients) > 0 {
		s.seq = f.Seqs[n-1] // the last one may be of another client
	}
	if len(f.Names) > 0 {
		s.name = f.Names[0]
	}
	return s
}

func (v *violations) query() string        { return v.words }
func (v *violations) language() promptKind { return rowFilter }
func (v *violations) ask(m *Model, text string) (tea.Cmd, error) {
	v.words = text
	return v.tick(m), nil
}

func (v *violations) where(*Model) string {
	s := v.win.Place(len(v.list.rows)) + "   sort: " + v.sort.String()
	if v.turned {
		s += ", turned"
	}
	if v.list.muted > 0 {
		s += fmt.Sprintf("   %s hidden", render.Number(int64(v.list.muted)))
	}
	return s
}

// about is the sentence of the finding that is selected.
func (v *violations) about(m *Model) widget.Line {
	f := v.finding()
	if f == nil {
		return widget.Line{}
	}
	l := widget.Spans(widget.In(severityRole(f.Severity), f.Rule.ID+" "))
	l.Add(widget.Plain, m.aliases.Text(f.Message))
	return l
}

func (v *violations) click(m *Model, _, y int, twice bool) tea.Cmd {
	if v.titled {
		if y == 0 {
			return v.do(m, key.Sort)
		}
		y--
	}
	if i := v.win.Top + y; y < v.listed && i < len(v.list.rows) {
		v.win.At = i
		v.keep()
		if twice {
			return v.do(m, key.Open)
		}
	}
	return nil
}
