package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/alias"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/marks"
	"github.com/xdsproxy/xdsproxy/tui/palette"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/clients"
	"github.com/xdsproxy/xdsproxy/tui/view/detail"
	"github.com/xdsproxy/xdsproxy/tui/view/findings"
	"github.com/xdsproxy/xdsproxy/tui/view/page"
	"github.com/xdsproxy/xdsproxy/tui/view/pushes"
	"github.com/xdsproxy/xdsproxy/tui/view/resources"
	"github.com/xdsproxy/xdsproxy/tui/view/stats"
	"github.com/xdsproxy/xdsproxy/tui/view/timeline"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Model is the state of the screen. It is used in the loop of the program only;
// what the log says comes in by looking, see observe.
type Model struct {
	log  *view.Log
	opts Options

	w, h  int
	now   func() time.Time
	theme widget.Theme
	light bool // the terminal said so of its background

	clients    *clients.View
	timeline   *timeline.View
	resources  *resources.View
	violations *findings.View
	stats      *stats.View
	pushes     *pushes.View
	tab        int         // of tabs
	over       []view.View // opened above it, the uppermost last

	focus view.View    // of the panes, the one that has the keys; nil: the timeline
	below *detail.View // the message below the timeline, nil if it was never shown
	shown session.Seq  // that it shows

	context   session.Seq // what the panes beside the timeline are about
	contextAt time.Time   // when they were told

	prompt  *typing
	palette *palette.Palette
	dialog  *dialog
	events  events
	aliases alias.Table
	held    time.Time // when it was known last what clients hold
	asking  bool      // that is asked

	lost   uint64    // entries that the log has dropped
	lostAt time.Time // when it was seen to have dropped one last
	away   uint64    // files of it that somebody else took away
	awayAt time.Time

	marks   *marks.Keeper
	clicked click

	seen    view.Seen
	looking bool // an observation is on its way

	frozen    bool
	frozenAt  time.Time
	picture   []widget.Line // of the screen, when it was held
	pictureOf int           // columns

	zoom view.View // the pane that has all of the body, nil if none has

	frame   string // that was drawn last
	stale   bool   // it is not what would be drawn now
	drawnAt time.Time
	drawn   uint64 // generation

	sure string // what was asked whether it is really to be copied

	outcome Outcome
}

// Options say how the screen looks. The zero value is fine.
type Options struct {
	Theme   string // one of Themes; auto if empty
	Color   string // auto, always or never; auto if empty
	ASCII   bool
	NoMouse bool
	// Choices are what was chosen of columns before; what is chosen now goes there.
	Choices *chosen.All
	Links   bool // the terminal knows links, see terminal.KnowsLinks
	// Timers and rules for the checker.
	Check check.Options
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Outcome is why the screen was left.
type Outcome uint8

// Stopped: the person has had enough. Detached: the screen is to go, the proxy
// to stay.
const (
	Stopped Outcome = iota
	Detached
)

const (
	// glance is how often the screen looks whether there is more.
	glance = 80 * time.Millisecond
	// A screen of more cells than manyCells costs more than twice as much to
	// draw, and is looked at less often for it.
	manyCells  = 6000
	slowGlance = 2 * glance
	idleGlance = 4 * glance // nothing more comes
)

type (
	tickMsg time.Time
	seenMsg view.Seen
)

func newModel(ctx context.Context, src Source, o Options) *Model {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Choices == nil {
		o.Choices = new(chosen.All)
	}
	x := index.New()
	m := &Model{
		log:  &view.Log{Context: ctx, Source: src, Index: x, Feed: index.NewFeed(x, o.Check), Fetch: index.NewFetcher(x, src.Open)},
		opts: o, now: o.Now, theme: widget.NewTheme(o.Theme, o.ASCII), stale: true, w: 80, h: 24,
	}
	m.marks = marks.New(x, src.Annotate, src.Notes)
	if says := m.marks.Load(); says != "" {
		m.tell(message{role: widget.Warned, text: says})
	}
	m.theme.Links = o.Links
	m.aliases.Read = m.log.Fetch.Names
	m.aliases.Full = func(said string) { m.Say("%s", said) }
	m.clients, m.timeline = clients.New(), timeline.New(src.Live)
	m.seen.Known = make(map[int]bool)
	m.resources, m.violations, m.stats, m.pushes = resources.New(m.clients), findings.New(), stats.New(), pushes.New()
	if !src.Live {
		m.tab = 1
	}
	return m
}

func (m *Model) tabs() []view.View {
	return []view.View{m.clients, m.timeline, m.resources, m.violations, m.stats, m.pushes}
}

// top is the view that keys go to.
func (m *Model) top() view.View {
	if n := len(m.over); n > 0 {
		return m.over[n-1]
	}
	switch {
	case m.isZoomed():
		return m.zoom
	case m.spread():
		return m.focused()
	}
	return m.tabs()[m.tab]
}

// Init is called by the program.
func (m *Model) Init() tea.Cmd {
	cmd := tea.Batch(m.wait(), tea.RequestBackgroundColor)
	if m.log.Filter != "" {
		cmd = tea.Batch(cmd, m.Timeline(m.log.Filter, 0))
	}
	return cmd
}

func (m *Model) wait() tea.Cmd {
	every := glance
	switch {
	case m.log.Feed.Done():
		every = idleGlance
	case m.w*m.h > manyCells:
		every = slowGlance
	}
	return tea.Tick(every, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// Update is called by the program with everything that happens.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if t, is := msg.(tickMsg); is {
		return m, m.ticked(time.Time(t))
	}
	m.stale = true
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		return m, m.tickAll()
	case tea.BackgroundColorMsg:
		m.light = !msg.IsDark()
		m.theme.Suit(m.light)
	case seenMsg:
		known := m.seen.Known
		m.seen, m.looking = view.Seen(msg), false
		m.seen.Known = known
		m.meetSeen()
		return m, tea.Batch(m.tickAll(), m.meetHeld())
	case heldMsg:
		m.held, m.asking = m.now(), false
		m.aliases.MeetAll(msg)
	case view.Reply:
		cmd := msg.To.Handle(m, msg.Msg)
		if m.prompt != nil {
			cmd = tea.Batch(cmd, m.prompt.Look())
		}
		return m, cmd
	case tea.KeyPressMsg:
		return m, m.key(msg)
	case tea.PasteMsg:
		if m.prompt != nil {
			return m, m.prompt.Update(msg)
		}
		if m.palette != nil {
			return m, m.palette.Update(msg)
		}
		m.Say("nothing is being typed, so there is nowhere to paste")
	case tea.MouseClickMsg, tea.MouseWheelMsg:
		return m, m.mouse(msg.(tea.MouseMsg))
	case tea.InterruptMsg:
		return m, m.do(key.Stop)
	case view.Said:
		m.tell(message{role: msg.Role, text: msg.Text})
	}
	return m, nil
}

// ticked looks whether there is more.
func (m *Model) ticked(time.Time) tea.Cmd {
	m.losses()
	cmds := []tea.Cmd{m.wait(), m.observe()}
	if g := m.log.Index.Generation(); g != m.drawn || m.notice() || m.ages() {
		m.stale = true
		cmds = append(cmds, m.tickAll())
	}
	return tea.Batch(cmds...)
}

// ages says whether something on the screen has grown older: ages are shown in
// seconds, and messages go.
func (m *Model) ages() bool {
	return (m.log.Live || m.events.fresh(m.drawnAt)) && m.now().Sub(m.drawnAt) >= time.Second
}

// observe asks the checker where clients stand, if that may have changed.
func (m *Model) observe() tea.Cmd {
	g := m.log.Index.Generation()
	if m.looking || m.frozen || g == m.seen.Generation || m.now().Sub(m.seen.Asked) < view.Judgement {
		return nil
	}
	m.looking = true
	feed, now, names := m.log.Feed, m.now, m.seen.Names
	return func() tea.Msg {
		s := view.Seen{Generation: g, Asked: now()}
		s.Standing, s.At = feed.Standing()
		s.Names, s.Effects = view.NamesOf(s.Standing, names), feed.Effects(s.Standing)
		s.Findings = feed.Findings()
		s.Folded = check.Fold(s.Findings)
		return seenMsg(s)
	}
}

// key takes a key that was pressed.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	m.events.answered()
	switch {
	case name == "ctrl+c":
		return m.do(key.Stop)
	case m.dialog != nil:
		return m.dialog.key(m, name)
	case m.prompt != nil:
		return m.typed(k)
	case m.palette != nil:
		return m.choose(k)
	}
	a := key.Of(name)
	if a == "" {
		m.Say("%q does nothing; ? lists the keys", name)
		return nil
	}
	if m.still(a) {
		return nil
	}
	return m.do(a)
}

// do performs an action: in the view, or else here.
func (m *Model) do(a key.Action) tea.Cmd {
	top, said := m.top(), m.events.said
	if offered(top, a) {
		cmd := top.Do(m, a)
		return tea.Batch(cmd, m.tickAll(), m.sayWhy(a, said, cmd))
	}
	if slices.Contains(key.Global(), a) {
		cmd := m.doGlobal(a)
		return tea.Batch(cmd, m.tickAll(), m.sayWhy(a, said, cmd))
	}
	b := key.BindingOf(a)
	m.Say("%s (%s) does nothing in %s; ? lists the keys", b.Keys[0], b.Act, top.Title())
	return nil
}

func (m *Model) doGlobal(a key.Action) tea.Cmd {
	switch a {
	case key.View1, key.View2, key.View3, key.View4, key.View5, key.View6:
		m.goTo(slices.Index(key.Views(), a))
	case key.Close:
		return m.back()
	case key.Quit:
		if len(m.over) > 0 {
			m.over = m.over[:len(m.over)-1]
			return nil
		}
		if m.isZoomed() {
			m.zoom = nil
			return nil
		}
		return m.leave()
	case key.NextPane, key.PrevPane:
		m.moveFocus(a == key.PrevPane)
	case key.Stop:
		if m.dialog != nil {
			return m.stop()
		}
		return m.leave()
	case key.Command:
		return m.Prompt(view.CommandPrompt, "")
	case key.Palette:
		return m.openPalette()
	case key.Help:
		m.showOrLeave(page.NewHelp(m.top()))
	case key.Log:
		m.showOrLeave(page.NewEvents(m.eventParagraphs))
	case key.Zoom:
		m.toggleZoom()
	case key.Freeze:
		m.freeze()
	case key.Violation:
		return m.nextViolation()
	case key.Privacy:
		return m.togglePrivacy()
	case key.Bootstrap:
		m.showOrLeave(page.NewBootstrap(m))
	case key.Copy:
		return m.Copy(m.screenText(), "the screen")
	case key.Export:
		m.export()
	}
	return nil
}

// show goes to one of the views that have a digit.
func (m *Model) show(tab int) {
	m.tab, m.over, m.focus, m.zoom = tab, nil, nil, nil
}

// showOrLeave opens a view, or leaves it if it is on top already.
func (m *Model) showOrLeave(v view.View) {
	if len(m.over) > 0 && m.top().Title() == v.Title() {
		m.over = m.over[:len(m.over)-1]
		return
	}
	m.Push(v)
}

// Push opens a view above the one that is shown.
func (m *Model) Push(v view.View) {
	if n := len(m.over); n >= maxOver {
		m.over = m.over[1:]
	}
	m.over = append(m.over, v)
}

const maxOver = 32

// back is what esc does: the search, then the filter, then the view.
func (m *Model) back() tea.Cmd {
	if f, is := m.top().(view.Filterable); is && f.Query() != "" {
		cmd, _ := f.Ask(m, "")
		return cmd
	}
	if len(m.over) > 0 {
		m.over = m.over[:len(m.over)-1]
		return nil
	}
	if m.isZoomed() {
		m.zoom = nil
		return nil
	}
	if m.focus != nil && m.focused() != view.View(m.timeline) {
		m.focus = nil
		return nil
	}
	m.Say("q leaves xdsproxy")
	return nil
}
