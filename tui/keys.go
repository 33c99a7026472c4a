package tui

import "slices"

// action is what a key does, by the name that the key table gives it.
type action string

// The actions. A key has one of them everywhere; where it cannot act, it says
// why.
const (
	actView1      action = "clients"
	actView2      action = "timeline"
	actView3      action = "resources"
	actView4      action = "violations"
	actView5      action = "stats"
	actUp         action = "up"
	actDown       action = "down"
	actLeft       action = "fold"
	actRight      action = "unfold"
	actFirst      action = "first"
	actLast       action = "last"
	actHalfDown   action = "half-page-down"
	actHalfUp     action = "half-page-up"
	actPageDown   action = "page-down"
	actPageUp     action = "page-up"
	actOpen       action = "open"
	actClose      action = "close"
	actNextPane   action = "next-pane"
	actPrevPane   action = "previous-pane"
	actToggle     action = "toggle"
	actFilter     action = "filter"
	actNextMatch  action = "next-match"
	actPrevMatch  action = "previous-match"
	actOnly       action = "only"
	actNot        action = "not"
	actUnfilter   action = "previous-filter"
	actFollow     action = "follow"
	actFreeze     action = "freeze"
	actPair       action = "pair"
	actPrevStream action = "previous-on-stream"
	actNextStream action = "next-on-stream"
	actOlder      action = "previous-version"
	actNewer      action = "next-version"
	actViolation  action = "next-violation"
	actDiff       action = "diff"
	actDiffMark   action = "diff-to-mark"
	actLadder     action = "ladder"
	actMark       action = "mark"
	actNextMark   action = "next-mark"
	actOnlyMarks  action = "only-marked"
	actNote       action = "note"
	actCopy       action = "copy"
	actCopyAs     action = "copy-as"
	actExport     action = "export"
	actSort       action = "sort"
	actReverse    action = "reverse"
	actColumns    action = "columns"
	actTime       action = "time"
	actForm       action = "form"
	actWrap       action = "wrap"
	actPager      action = "pager"
	actPrivacy    action = "privacy"
	actResources  action = "resources-of"
	actBootstrap  action = "bootstrap"
	actCommand    action = "command"
	actHelp       action = "help"
	actLog        action = "event-log"
	actQuit       action = "quit"
	actStop       action = "stop"
)

// binding is an action with its keys, as bubbletea writes them, a word for the
// key line, and a sentence for help.
type binding struct {
	act  action
	keys []string
	hint string
	help string
}

// keymap is every key that does something, in the order of docs/keys.md.
func keymap() []binding {
	return []binding{
		{actView1, []string{"1"}, "", "Clients: who is in sync with what"},
		{actView2, []string{"2"}, "", "Timeline: the messages"},
		{actView3, []string{"3"}, "", "Resources of a client, by reference"},
		{actView4, []string{"4"}, "", "Violations: what rules found"},
		{actView5, []string{"5"}, "", "Stats"},
		{actUp, []string{"k", "up"}, "", "up"},
		{actDown, []string{"j", "down"}, "", "down"},
		{actLeft, []string{"h", "left"}, "", "fold; scroll to the left"},
		{actRight, []string{"l", "right"}, "", "unfold; scroll to the right"},
		{actFirst, []string{"g", "home"}, "", "the first"},
		{actLast, []string{"G", "end"}, "go", "the last, and follow what comes"},
		{actHalfDown, []string{"ctrl+d"}, "", "half a page down"},
		{actHalfUp, []string{"ctrl+u"}, "", "half a page up"},
		{actPageDown, []string{"pgdown"}, "", "a page down"},
		{actPageUp, []string{"pgup"}, "", "a page up"},
		{actOpen, []string{"enter"}, "open", "open what is selected"},
		{actClose, []string{"esc"}, "back", "close the prompt, then the search, then the filter, then the view; never the program"},
		{actNextPane, []string{"tab"}, "pane", "next pane"},
		{actPrevPane, []string{"shift+tab"}, "", "previous pane"},
		{actToggle, []string{"space"}, "fold", "fold and unfold"},
		{actFilter, []string{"/"}, "filter", "filter a list, search a text"},
		{actNextMatch, []string{"n"}, "next", "next match, or next difference"},
		{actPrevMatch, []string{"N"}, "", "previous match, or previous difference"},
		{actOnly, []string{"i"}, "only", "only what is like this: client, type, stream, resource"},
		{actNot, []string{"x"}, "not", "nothing that is like this"},
		{actUnfilter, []string{"u"}, "", "the filter before"},
		{actFollow, []string{"f"}, "follow", "follow what comes, or stay here"},
		{actFreeze, []string{"z"}, "freeze", "hold the screen still; recording goes on"},
		{actPair, []string{"p"}, "pair", "from a response to its answer, and back"},
		{actPrevStream, []string{"["}, "", "the one before on the same stream"},
		{actNextStream, []string{"]"}, "", "the next one on the same stream"},
		{actOlder, []string{"{"}, "", "the version of the resource before"},
		{actNewer, []string{"}"}, "", "the next version of the resource"},
		{actViolation, []string{"!"}, "violation", "the next violation"},
		{actDiff, []string{"d"}, "diff", "what changed since the version before, or since what the client accepted"},
		{actDiffMark, []string{"D"}, "", "what differs from the marked one"},
		{actLadder, []string{"L"}, "ladder", "the conversation as a ladder, and back"},
		{actMark, []string{"m"}, "mark", "mark, or take the mark away"},
		{actNextMark, []string{"'"}, "", "the next mark"},
		{actOnlyMarks, []string{"M"}, "", "only what is marked"},
		{actNote, []string{";"}, "note", "write a note on this entry"},
		{actCopy, []string{"y"}, "copy", "copy"},
		{actCopyAs, []string{"Y"}, "", "copy in another form"},
		{actExport, []string{"e"}, "export", "export this view, or what is selected, to a file"},
		{actSort, []string{"s"}, "sort", "sort by the next column"},
		{actReverse, []string{"S"}, "", "the other way round"},
		{actColumns, []string{"c"}, "columns", "which columns are shown"},
		{actTime, []string{"t"}, "time", "times: of day, since the start, since the row before"},
		{actForm, []string{"v"}, "form", "the next form"},
		{actWrap, []string{"w"}, "wrap", "wrap long lines"},
		{actPager, []string{"o"}, "pager", "open in the pager"},
		{actPrivacy, []string{"P"}, "privacy", "replace names and addresses by aliases"},
		{actResources, []string{"r"}, "resources", "the resources of this client"},
		{actBootstrap, []string{"b"}, "bootstrap", "what a client's bootstrap must say to get here"},
		{actCommand, []string{":"}, "command", "type a command"},
		{actHelp, []string{"?"}, "help", "the keys that work here"},
		{actLog, []string{"E"}, "events", "what the message line said"},
		{actQuit, []string{"q"}, "back", "back; at the root, leave"},
		{actStop, []string{"ctrl+c"}, "", "leave; twice: at once"},
	}
}

// actionOf is what a key does, "" if nothing.
func actionOf(key string) action {
	for _, b := range keymap() {
		if slices.Contains(b.keys, key) {
			return b.act
		}
	}
	return ""
}

func bindingOf(a action) binding {
	for _, b := range keymap() {
		if b.act == a {
			return b
		}
	}
	return binding{}
}

// global are the actions that work wherever no prompt is open.
func global() []action {
	return []action{
		actView1, actView2, actView3, actView4, actView5, actViolation, actFreeze, actPrivacy, actExport, actCopy,
		actBootstrap, actCommand, actHelp, actLog, actClose, actQuit, actStop,
	}
}

// moves are the actions of every list and every text.
func moves() []action {
	return []action{actUp, actDown, actHalfDown, actHalfUp, actPageDown, actPageUp, actFirst, actLast}
}
