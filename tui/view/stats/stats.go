// Package stats is the view of what was counted.
package stats

import (
	"fmt"
	"runtime/metrics"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// View is what was counted: rates, types, waits, talkers, the biggest
// messages, and how the recorder does.
type View struct {
	known   *index.Stats // nil: nothing yet
	of      uint64       // generation that it is of
	asked   time.Time
	asking  bool
	memory  uint64           // of this process, in bytes
	Past    engine.Memory    // of what is over
	log     *recorder.Stats  // of the recorder, nil if this process has none
	archive *source.Archived // nil if nothing is uploaded
	Measure func() uint64    // tells the memory
	win     widget.Window    // in the biggest messages
	first   int              // line of the body where these begin
	columns int              // that they take
	at      index.Big        // that is selected
}

func New() *View { return &View{Measure: memoryInUse} }

// counting is what a command brings.
type counting struct {
	stats   *index.Stats
	of      uint64
	memory  uint64
	past    engine.Memory
	log     *recorder.Stats
	archive *source.Archived
}

func (v *View) Title() string { return "Stats" }

func (v *View) Keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Open, Hint: "open", Help: "the big message that is selected"},
		{Act: key.Only, Hint: "only", Help: "the messages of its client and type"},
		{Act: key.Copy, Hint: "copy", Help: "copy what stands here"},
	})
}

// uploads is how often what was uploaded is looked at while nothing passes.
const uploads = 5 * time.Second

func (v *View) Tick(scr view.Screen) tea.Cmd {
	g := scr.Log().Index.Generation()
	pause := scr.Now().Sub(v.asked)
	// What is uploaded changes while nothing passes, too.
	same := g == v.of && (v.archive == nil || pause < uploads)
	if v.asking || v.known != nil && (same || pause < view.Judgement) {
		return nil
	}
	v.asking, v.asked = true, scr.Now()
	log, measure := scr.Log(), v.Measure
	return view.Answer(v, func() any {
		c := counting{stats: log.Index.Stats(), of: g, memory: measure(), past: log.Feed.Memory()}
		if p := log.Proxy; p != nil {
			log := p.Stats()
			c.log = &log
			if p.Archive != nil {
				archive := p.Archive()
				c.archive = &archive
			}
		}
		return c
	})
}

// memoryInUse is what the process holds of the system's memory.
func memoryInUse() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

func (v *View) Handle(_ view.Screen, msg any) tea.Cmd {
	c, is := msg.(counting)
	if !is {
		return nil
	}
	v.known, v.of, v.memory, v.Past, v.log, v.archive, v.asking = c.stats, c.of, c.memory, c.past, c.log, c.archive, false
	for i, b := range c.stats.Biggest { // the selection stays with its message
		if v.at.Row.Seq != 0 && b.Row.Seq == v.at.Row.Seq {
			v.win.At = i
		}
	}
	v.win.Fit(len(c.stats.Biggest), 10)
	return nil
}

func (v *View) big() (index.Big, bool) {
	if v.known == nil || v.win.At >= len(v.known.Biggest) {
		return index.Big{}, false
	}
	return v.known.Biggest[v.win.At], true
}

func (v *View) Do(scr view.Screen, a key.Action) tea.Cmd {
	total := 0
	if v.known != nil {
		total = len(v.known.Biggest)
	}
	if v.win.Move(a, total) {
		v.at, _ = v.big()
		return nil
	}
	if a == key.Copy {
		return scr.Copy(v.plainText(scr), "the counts")
	}
	b, is := v.big()
	if !is {
		scr.Say("no message has passed yet")
		return nil
	}
	switch a {
	case key.Open:
		return scr.Act(key.Open, view.Selection{Seq: b.Row.Seq})
	case key.Only:
		return scr.Act(key.Only, view.Selection{Client: b.Client, Type: b.Type})
	}
	return nil
}

func (v *View) plainText(scr view.Screen) string {
	var b strings.Builder
	for _, l := range v.Draw(scr, 120, 1000) {
		b.WriteString(l.PlainText() + "\n")
	}
	return b.String()
}

func (v *View) Selected(view.Screen) view.Selection {
	b, is := v.big()
	if !is {
		return view.Selection{}
	}
	return view.Selection{Client: b.Client, Type: b.Type, Seq: b.Row.Seq}
}

func (v *View) Where(view.Screen) string {
	if v.known == nil {
		return "counting"
	}
	return "up to " + fmt.Sprint(uint64(v.known.Last))
}

func (v *View) About(scr view.Screen) widget.Line {
	b, is := v.big()
	if !is {
		return widget.Line{}
	}
	return widget.Text(widget.Plain, fmt.Sprintf("%d: %s %s for %s, %s", b.Row.Seq, render.OrDash(b.Type), b.Row.What, render.OrDash(scr.Aliases().Name(b.Client)), render.Size(int64(b.Row.Size))))
}

func (v *View) Click(scr view.Screen, x, y int, twice bool) tea.Cmd {
	i := v.win.Top + y - v.first
	if v.known == nil || y < v.first || i >= len(v.known.Biggest) || x >= v.columns {
		return nil
	}
	v.win.At = i
	v.at, _ = v.big()
	if twice {
		return v.Do(scr, key.Open)
	}
	return nil
}
