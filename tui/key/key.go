// Package key is the table of keys: what each does, by the name of an action. It
// does nothing itself.
package key

import (
	"slices"
)

// Action is what a key does, by the name that the key table gives it.
type Action string

// The actions. A key has one of them everywhere; where it cannot act, it says
// why.
const (
	View1      Action = "clients"
	View2      Action = "timeline"
	View3      Action = "resources"
	View4      Action = "violations"
	View5      Action = "stats"
	View6      Action = "pushes"
	Up         Action = "up"
	Down       Action = "down"
	Left       Action = "fold"
	Right      Action = "unfold"
	First      Action = "first"
	Last       Action = "last"
	HalfDown   Action = "half-page-down"
	HalfUp     Action = "half-page-up"
	PageDown   Action = "page-down"
	PageUp     Action = "page-up"
	Open       Action = "open"
	Close      Action = "close"
	NextPane   Action = "next-pane"
	PrevPane   Action = "previous-pane"
	Toggle     Action = "toggle"
	Filter     Action = "filter"
	NextMatch  Action = "next-match"
	PrevMatch  Action = "previous-match"
	Only       Action = "only"
	Not        Action = "not"
	Unfilter   Action = "previous-filter"
	Follow     Action = "follow"
	Zoom       Action = "zoom"
	Freeze     Action = "freeze"
	Pair       Action = "pair"
	PrevStream Action = "previous-on-stream"
	NextStream Action = "next-on-stream"
	Older      Action = "previous-version"
	Newer      Action = "next-version"
	Violation  Action = "next-violation"
	Diff       Action = "diff"
	DiffMark   Action = "diff-to-mark"
	Ladder     Action = "ladder"
	Mark       Action = "mark"
	NextMark   Action = "next-mark"
	OnlyMarks  Action = "only-marked"
	Note       Action = "note"
	Copy       Action = "copy"
	CopyAs     Action = "copy-as"
	Export     Action = "export"
	Sort       Action = "sort"
	Reverse    Action = "reverse"
	Columns    Action = "columns"
	Narrower   Action = "narrower"
	Wider      Action = "wider"
	Time       Action = "time"
	Form       Action = "form"
	Wrap       Action = "wrap"
	Pager      Action = "pager"
	Privacy    Action = "privacy"
	Resources  Action = "resources-of"
	Bootstrap  Action = "bootstrap"
	Command    Action = "command"
	Palette    Action = "palette"
	Help       Action = "help"
	Log        Action = "event-log"
	Quit       Action = "quit"
	Stop       Action = "stop"
)

// Binding is an action with its keys, as bubbletea writes them, a word for the
// key line, and a sentence for help.
type Binding struct {
	Act  Action
	Keys []string
	Hint string
	Help string
}

// All is every key that does something, in the order of docs/keys.md.
func All() []Binding {
	return []Binding{
		{View1, []string{"1"}, "", "Clients: who is in sync with what"},
		{View2, []string{"2"}, "", "Timeline: the messages"},
		{View3, []string{"3"}, "", "Resources of a client, by reference"},
		{View4, []string{"4"}, "", "Violations: what rules found"},
		{View5, []string{"5"}, "", "Stats"},
		{View6, []string{"6"}, "", "Pushes: how far each change of the control plane is"},
		{Up, []string{"k", "up"}, "", "up"},
		{Down, []string{"j", "down"}, "", "down"},
		{Left, []string{"h", "left"}, "", "fold; scroll to the left"},
		{Right, []string{"l", "right"}, "", "unfold; scroll to the right"},
		{First, []string{"g", "home"}, "", "the first"},
		{Last, []string{"G", "end"}, "go", "the last, and follow what comes"},
		{HalfDown, []string{"ctrl+d"}, "", "half a page down"},
		{HalfUp, []string{"ctrl+u"}, "", "half a page up"},
		{PageDown, []string{"pgdown"}, "", "a page down"},
		{PageUp, []string{"pgup"}, "", "a page up"},
		{Open, []string{"enter"}, "open", "open what is selected"},
		{Close, []string{"esc"}, "back", "close the prompt, then the search, then the filter, then the view; never the program"},
		{NextPane, []string{"tab"}, "pane", "next pane"},
		{PrevPane, []string{"shift+tab"}, "", "previous pane"},
		{Toggle, []string{"space"}, "fold", "fold and unfold"},
		{Filter, []string{"/"}, "filter", "filter a list, search a text"},
		{NextMatch, []string{"n"}, "next", "next match, or next difference"},
		{PrevMatch, []string{"N"}, "", "previous match, or previous difference"},
		{Only, []string{"+"}, "only", "only what is like this; tab: by another property; the count stands below"},
		{Not, []string{"-"}, "not", "nothing that is like this, in the same way"},
		{Unfilter, []string{"u"}, "", "the filter before"},
		{Follow, []string{"f"}, "follow", "follow what comes, or stay here"},
		{Zoom, []string{"Z"}, "zoom", "give one pane all the room, and back"},
		{Freeze, []string{"z"}, "freeze", "hold the screen still, and let it go; recording goes on"},
		{Pair, []string{"p"}, "pair", "from a response to its answer, and back"},
		{PrevStream, []string{"["}, "", "the one before on the same stream"},
		{NextStream, []string{"]"}, "", "the next one on the same stream"},
		{Older, []string{"{"}, "", "the previous version of the resource"},
		{Newer, []string{"}"}, "", "the next version of the resource"},
		{Violation, []string{"!"}, "violation", "the next violation"},
		{Diff, []string{"d"}, "diff", "what changed since the version before, or since what the client accepted"},
		{DiffMark, []string{"D"}, "", "what differs from the marked one"},
		{Ladder, []string{"L"}, "ladder", "the conversation as a ladder, and back"},
		{Mark, []string{"m"}, "mark", "mark, or take the mark away"},
		{NextMark, []string{"'"}, "", "the next mark"},
		{OnlyMarks, []string{"M"}, "", "only what is marked"},
		{Note, []string{";"}, "note", "write a note on this entry"},
		{Copy, []string{"y"}, "copy", "copy"},
		{CopyAs, []string{"Y"}, "", "copy in another form"},
		{Export, []string{"e"}, "export", "export this view, or what is selected, to a file"},
		{Sort, []string{"s"}, "sort", "sort by the next column"},
		{Reverse, []string{"S"}, "", "the other way round"},
		{Columns, []string{"c"}, "columns", "choose columns: which are shown, how wide, by which it is sorted"},
		{Narrower, []string{"<"}, "narrower", "names narrower"},
		{Wider, []string{">"}, "wider", "names wider"},
		{Time, []string{"t"}, "time", "times: of day, since the start, since the row before"},
		{Form, []string{"v"}, "form", "the next form"},
		{Wrap, []string{"w"}, "wrap", "wrap long lines"},
		{Pager, []string{"o"}, "pager", "open in the pager"},
		{Privacy, []string{"P"}, "privacy", "replace names and addresses by aliases"},
		{Resources, []string{"r"}, "resources", "the resources of this client"},
		{Bootstrap, []string{"b"}, "bootstrap", "what a client's bootstrap must say to get here"},
		{Command, []string{":"}, "command", "type a command"},
		{Palette, []string{"ctrl+p"}, "", "all that can be done here, searched by typing"},
		{Help, []string{"?"}, "help", "the keys that work here"},
		{Log, []string{"E"}, "events", "what the message line said"},
		{Quit, []string{"q"}, "back", "back; at the root, leave"},
		{Stop, []string{"ctrl+c"}, "", "leave; twice: at once"},
	}
}

// Of is what a key does, "" if nothing.
func Of(key string) Action {
	for _, b := range All() {
		if slices.Contains(b.Keys, key) {
			return b.Act
		}
	}
	return ""
}

func BindingOf(a Action) Binding { return In(All(), a) }

func In(all []Binding, a Action) Binding {
	for _, b := range all {
		if b.Act == a {
			return b
		}
	}
	return Binding{}
}

// Views are the actions that go to a view, in the order of their keys.
func Views() []Action { return []Action{View1, View2, View3, View4, View5, View6} }

// Global are the actions that work wherever no prompt is open.
func Global() []Action {
	return append(Views(),
		Violation, Zoom, Freeze, Privacy, Export, Copy,
		Bootstrap, NextPane, PrevPane, Command, Palette, Help, Log, Close, Quit, Stop,
	)
}

// Moves are the actions of every list and every text.
func Moves() []Action {
	return []Action{Up, Down, HalfDown, HalfUp, PageDown, PageUp, First, Last}
}

// Offer is an action that a view performs. hint is its word in the key line;
// with none it stands in the help alone. help, where it is not "", says what
// it means here.
type Offer struct {
	Act  Action
	Hint string
	Help string
}

// WithMoves adds the actions of every list to those of a view.
func WithMoves(offers []Offer) []Offer {
	for _, a := range Moves() {
		offers = append(offers, Offer{Act: a})
	}
	return offers
}
