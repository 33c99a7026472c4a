// Package findings is the view of what rules found.
package findings

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// View is the list of findings, and what there is to know about the one
// that is selected.
type View struct {
	win    widget.Window
	at     picked // the finding that is selected
	List   findingList
	placed findingQuery // of the list in which the selection was looked for

	Words   string
	before  []string        // words that were set before
	shown   []chosen.Column // as drawn last
	Asked   findingQuery    // that the list was made for, or is being made
	listing bool            // a command is at it
	listed  int             // rows that the last drawing left for the list
	titled  bool            // it had titles above
}

// findingQuery is what decides which rows there are, and in which order.
type findingQuery struct {
	generation uint64
	Words      string
	sort       findingOrder
	turned     bool
	known      int
}

// findingList is the rows: findings by their place among all, which are one a cause.
type findingList struct {
	query findingQuery
	all   []check.Finding
	known []bool // by place
	Rows  []int32
	names *shortname.Set // of resources
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

// order is what findings are sorted by.
func (v *View) order(scr view.Screen) findingOrder {
	for o := range mostOften + 1 {
		if o.String() == scr.Choice(v.Title()).Sort {
			return o
		}
	}
	return gravestFirst
}

func (v *View) sortBy(scr view.Screen, o findingOrder) tea.Cmd {
	scr.Choice(v.Title()).Sort = o.String()
	scr.Say("sorted: %s", o)
	return nil
}

func (v *View) Columns(view.Screen) []chosen.Column { return v.shown }

func (v *View) SortBy(scr view.Screen, title string) (tea.Cmd, bool) {
	by, is := map[string]findingOrder{"RULE": byRule, "CLIENT": byClient, "COUNT": mostOften, "LAST": latestFinding}[title]
	if !is {
		return nil, false
	}
	return v.sortBy(scr, by), true
}

func New() *View { return &View{titled: true} }

func (v *View) Title() string { return "Violations" }

func (v *View) Keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Filter, Hint: "filter", Help: "words that a finding must have"},
		{Act: key.Open, Hint: "messages", Help: "the messages involved"},
		{Act: key.Sort, Hint: "sort", Help: "the worst first, the latest, by rule, by client, by count"},
		{Act: key.Only, Hint: "only", Help: "only this rule; tab: only this client"},
		{Act: key.Not, Hint: "not", Help: "nothing of this rule; tab: of this client"},
		{Act: key.Diff, Hint: "diff", Help: "what changed in the resource"},
		{Act: key.Resources, Hint: "resources"},
		{Act: key.Copy, Hint: "copy", Help: "copy the finding"},
		{Act: key.Unfilter, Help: "the words before"},
		{Act: key.Violation, Help: "the next one in this list"},
		{Act: key.Reverse},
		{Act: key.Columns},
		{Act: key.Narrower},
		{Act: key.Wider},
		{Act: key.Ladder},
	})
}

// want is the query for the list as it is to be now.
func (v *View) want(scr view.Screen) findingQuery {
	return findingQuery{scr.Seen().Generation, v.Words, v.order(scr), scr.Choice(v.Title()).Turned, len(scr.Seen().Known)}
}

// Tick makes the list anew, beside the loop, if it may be another one.
func (v *View) Tick(scr view.Screen) tea.Cmd {
	v.settle()
	q := v.want(scr)
	if v.listing || q == v.Asked {
		return nil
	}
	v.listing, v.Asked = true, q
	all, silences, own := scr.Seen().Folded, scr.Log().Index.Silences(), make(map[int]bool, len(scr.Seen().Known))
	for k := range scr.Seen().Known {
		own[k] = true
	}
	return view.Answer(v, func() any { return MakeFindingList(q, all, own, silences) })
}

func (v *View) Handle(scr view.Screen, msg any) tea.Cmd {
	if l, is := msg.(findingList); is {
		v.List, v.listing = l, false
		v.settle()
		return v.Tick(scr)
	}
	return nil
}

// settle puts the window where the selection is.
func (v *View) settle() {
	if v.at.rule != nil && v.placed != v.List.query { // looking for it in each frame would take long
		if i := slices.IndexFunc(v.List.Rows, func(at int32) bool { return pick(&v.List.all[at]) == v.at }); i >= 0 {
			v.win.At = i
		}
	}
	v.placed = v.List.query
	v.win.Fit(len(v.List.Rows), v.win.Rows)
}

func (v *View) keep() {
	if f := v.Finding(); f != nil {
		v.at = pick(f)
	}
}

// Show selects a finding that an entry proved, unless one is selected already.
func (v *View) Show(seq session.Seq) {
	of := func(f *check.Finding) bool { return f.LastSeq == seq || slices.Contains(f.Seqs, seq) }
	if f := v.Finding(); seq == 0 || f != nil && of(f) {
		return
	}
	if i := slices.IndexFunc(v.List.Rows, func(at int32) bool { return of(&v.List.all[at]) }); i >= 0 {
		v.win.At = i
		v.keep()
	}
}

// Finding is the one that is selected, nil if there is none.
func (v *View) Finding() *check.Finding {
	if v.win.At >= len(v.List.Rows) {
		return nil
	}
	return &v.List.all[v.List.Rows[v.win.At]]
}

func (v *View) Do(scr view.Screen, a key.Action) tea.Cmd {
	v.settle()
	if v.win.Move(a, len(v.List.Rows)) {
		if v.keep(); a == key.First { // the top, whatever comes there
			v.at = picked{}
		}
		return nil
	}
	switch a {
	case key.Filter:
		return scr.Prompt(view.RowFilter, v.Words)
	case key.Sort:
		return v.sortBy(scr, (v.order(scr)+1)%(mostOften+1))
	case key.Reverse:
		of := scr.Choice(v.Title())
		of.Turned = !of.Turned
		return nil
	case key.Narrower, key.Wider:
		return view.Resize(scr, v, "RESOURCE", a)
	case key.Columns:
		return scr.Act(key.Columns, view.Selection{})
	case key.Unfilter:
		if len(v.before) == 0 {
			scr.Say("there was no filter before")
			return nil
		}
		last := len(v.before) - 1
		v.Words, v.before = v.before[last], v.before[:last]
		return v.Tick(scr)
	}
	f := v.Finding()
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
	case key.Only, key.Not:
		return scr.Narrow(view.RowFilter, findingTerms(f), a == key.Not)
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

// findingTerms are words that a finding has, and few others.
func findingTerms(f *check.Finding) []string {
	out := []string{f.Rule.ID}
	if f.Client != "" {
		out = append(out, f.Client)
	}
	return out
}

// Preview is how many findings some words would show and hide.
func (v *View) Preview(scr view.Screen, text string) (string, tea.Cmd) {
	shown, all := 0, v.List.all
	for i := range all {
		if widget.HasWords(findingWords(&all[i], v.List.known[i]), text) {
			shown++
		}
	}
	return view.Forecast(shown, len(all)), nil
}

// maxBefore bounds how many filters are kept to go back to.
const maxBefore = 64

// next selects the row below, or the first one after the last.
func (v *View) next(scr view.Screen) {
	if v.win.At++; v.win.At >= len(v.List.Rows) {
		v.win.At = 0
		scr.Say("that was the last one; this is the first")
	}
	v.keep()
}

func (v *View) Selected(view.Screen) view.Selection {
	f := v.Finding()
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
	s.Rule, s.Proof = f.Rule.ID, f.Seqs
	return s
}

func (v *View) Query() string             { return v.Words }
func (v *View) Language() view.PromptKind { return view.RowFilter }
func (v *View) Ask(scr view.Screen, text string) (tea.Cmd, error) {
	if text != v.Words {
		v.before = append(v.before[max(0, len(v.before)-maxBefore):], v.Words)
	}
	v.Words = text
	return v.Tick(scr), nil
}

func (v *View) Where(scr view.Screen) string {
	s := v.win.Place(len(v.List.Rows)) + "   sort: " + v.order(scr).String()
	if scr.Choice(v.Title()).Turned {
		s += ", turned"
	}
	return s
}

// About is the sentence of the finding that is selected.
func (v *View) About(scr view.Screen) widget.Line {
	f := v.Finding()
	if f == nil {
		return widget.Line{}
	}
	l := widget.Spans(widget.In(view.SeverityRole(f.Severity), f.Rule.ID+" "))
	l.Add(widget.Plain, scr.Aliases().Text(f.Message))
	return l
}

func (v *View) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	if v.titled {
		if y == 0 {
			return v.Do(scr, key.Sort)
		}
		y--
	}
	if i := v.win.Top + y; y < v.listed && i < len(v.List.Rows) {
		v.win.At = i
		v.keep()
		if twice {
			return v.Do(scr, key.Open)
		}
	}
	return nil
}

// Silence marks the finding that is selected as known: by a note in the log if
// it is ours to write, else on this screen.
func (v *View) Silence(scr view.Screen) tea.Cmd {
	f := v.Finding()
	if v.List.known[v.List.Rows[v.win.At]] {
		scr.Say("%s is known already", f.Rule.ID)
		return nil
	}
	scr.Seen().Known[f.Cause] = true
	if v.at = (picked{}); v.win.At+1 < len(v.List.Rows) { // on to the next one
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
