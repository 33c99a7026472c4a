package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
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

func newViolations() *violations { return &violations{titled: true} }

func (v *violations) Title() string { return "Violations" }

func (v *violations) Keys() []key.Offer {
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
func (v *violations) want(scr view.Screen) findingQuery {
	return findingQuery{scr.Seen().Generation, v.words, v.sort, v.turned, len(v.hidden), len(scr.Seen().Known)}
}

// Tick makes the list anew, beside the loop, if it may be another one.
func (v *violations) Tick(scr view.Screen) tea.Cmd {
	v.settle()
	q := v.want(scr)
	if v.listing || q == v.asked {
		return nil
	}
	v.listing, v.asked = true, q
	all, hidden, silences, own := scr.Seen().Folded, slices.Clone(v.hidden), scr.Log().Index.Silences(), make(map[int]bool, len(scr.Seen().Known))
	for k := range scr.Seen().Known {
		own[k] = true
	}
	return view.Answer(v, func() any { return makeFindingList(q, all, hidden, own, silences) })
}

func (v *violations) Handle(scr view.Screen, msg any) tea.Cmd {
	if l, is := msg.(findingList); is {
		v.list, v.listing = l, false
		v.settle()
		return v.Tick(scr)
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

func (v *violations) Do(scr view.Screen, a key.Action) tea.Cmd {
	v.settle()
	if v.win.Move(a, len(v.list.rows)) {
		v.keep()
		return nil
	}
	switch a {
	case key.Filter:
		return scr.Prompt(view.RowFilter, v.words)
	case key.Sort:
		v.sort = (v.sort + 1) % (mostOften + 1)
		scr.Say("sorted: %s", v.sort)
		return nil
	case key.Reverse:
		v.turned = !v.turned
		return nil
	case key.Unfilter:
		if len(v.hidden) == 0 {
			scr.Say("nothing is hidden here")
			return nil
		}
		last := v.hidden[len(v.hidden)-1]
		v.hidden = v.hidden[:len(v.hidden)-1]
		scr.Say("%s is shown again", hidingText(scr, last))
		return nil
	}
	f := v.finding()
	if f == nil {
		scr.Say("no rule has found anything here")
		return nil
	}
	v.keep()
	switch a {
	case key.Open:
		return openFinding(scr, f)
	case key.Violation:
		v.next(scr)
	case key.Only:
		return v.only(scr, f)
	case key.Not:
		h := hiding{f.Rule.ID, f.Client}
		v.hidden = append(v.hidden, h)
		if n := len(f.Clients); n > 0 {
			scr.Say("%s of %s is hidden; u shows it again", h.rule, render.ClientCount(n, f.MoreClients))
			return nil
		}
		scr.Say("%s is hidden; u shows it again", hidingText(scr, h))
	case key.Diff:
		if len(f.Names) == 0 {
			scr.Say("%s is about no resource in particular", f.Rule.ID)
			return nil
		}
		return scr.Act(key.Diff, v.Selected(scr))
	case key.Ladder:
		return scr.Act(key.Ladder, v.Selected(scr))
	case key.Resources:
		if f.Client == "" {
			scr.Say("the client has not said who it is")
			return nil
		}
		return scr.Act(key.Resources, view.Selection{Client: f.Client})
	case key.Copy:
		return scr.Copy(findingText(scr, f), "the finding")
	}
	return nil
}

func hidingText(scr view.Screen, h hiding) string {
	if h.client == "" {
		return h.rule
	}
	return h.rule + " of " + scr.Aliases().Name(h.client)
}

// only keeps the rule of a finding, then its client.
func (v *violations) only(scr view.Screen, f *check.Finding) tea.Cmd {
	for _, w := range []string{f.Rule.ID, f.Client} {
		if w != "" && !slices.Contains(strings.Fields(v.words), w) {
			v.words = view.Join(v.words, w)
			return nil
		}
	}
	scr.Say("the filter says all that already")
	return nil
}

// next selects the row below, or the first one after the last.
func (v *violations) next(scr view.Screen) {
	if v.win.At++; v.win.At >= len(v.list.rows) {
		v.win.At = 0
		scr.Say("that was the last one; this is the first")
	}
	v.keep()
}

func (v *violations) Selected(view.Screen) view.Selection {
	f := v.finding()
	if f == nil {
		return view.Selection{}
	}
	s := view.Selection{Client: f.Client, Seq: f.LastSeq, Type: f.Type}
	if n := len(f.Seqs); n > 0 && len(f.Clients) > 0 {
		s.Seq = f.Seqs[n-1] // the last one may be of another client
	}
	if len(f.Names) > 0 {
		s.Name = f.Names[0]
	}
	return s
}

func (v *violations) Query() string             { return v.words }
func (v *violations) Language() view.PromptKind { return view.RowFilter }
func (v *violations) Ask(scr view.Screen, text string) (tea.Cmd, error) {
	v.words = text
	return v.Tick(scr), nil
}

func (v *violations) Where(view.Screen) string {
	s := v.win.Place(len(v.list.rows)) + "   sort: " + v.sort.String()
	if v.turned {
		s += ", turned"
	}
	if v.list.muted > 0 {
		s += fmt.Sprintf("   %s hidden", render.Number(int64(v.list.muted)))
	}
	return s
}

// About is the sentence of the finding that is selected.
func (v *violations) About(scr view.Screen) widget.Line {
	f := v.finding()
	if f == nil {
		return widget.Line{}
	}
	l := widget.Spans(widget.In(view.SeverityRole(f.Severity), f.Rule.ID+" "))
	l.Add(widget.Plain, scr.Aliases().Text(f.Message))
	return l
}

func (v *violations) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	if v.titled {
		if y == 0 {
			return v.Do(scr, key.Sort)
		}
		y--
	}
	if i := v.win.Top + y; y < v.listed && i < len(v.list.rows) {
		v.win.At = i
		v.keep()
		if twice {
			return v.Do(scr, key.Open)
		}
	}
	return nil
}

// silence marks the finding that is selected as known: by a note in the log if
// it is ours to write, else on this screen.
func (v *violations) silence(scr view.Screen) tea.Cmd {
	f := v.finding()
	if v.list.known[v.list.rows[v.win.At]] {
		scr.Say("%s is known already", f.Rule.ID)
		return nil
	}
	scr.Seen().Known[f.Cause] = true
	if v.at = (picked{}); v.win.At+1 < len(v.list.rows) { // on to the next one
		v.win.At++
		v.keep()
	}
	if scr.Log().Annotate == nil {
		scr.Say("%s is known now, on this screen alone: this recording takes no notes", f.Rule.ID)
		return v.Tick(scr)
	}
	scr.Say("%s is known now; the recording says so, too", f.Rule.ID)
	note := session.Note{Code: session.NoteSilenced, Text: f.Rule.ID, About: f.LastSeq}
	annotate := scr.Log().Annotate
	return tea.Batch(v.Tick(scr), func() tea.Msg {
		annotate(note)
		return nil
	})
}
