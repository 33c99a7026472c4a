package pushes

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/render/push"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

func (v *View) Do(scr view.Screen, a key.Action) tea.Cmd {
	v.settle()
	if v.win.Move(a, len(v.rows)) {
		if v.at = v.selected(); a == key.Last {
			v.at = 0
		}
		return nil
	}
	switch a {
	case key.Filter:
		return scr.Prompt(view.RowFilter, v.words)
	case key.Follow:
		v.follow(scr)
		return nil
	case key.Unfilter:
		if len(v.before) == 0 {
			scr.Say("there was no filter before")
			return nil
		}
		last := len(v.before) - 1
		v.words, v.before = v.before[last], v.before[:last]
		v.list()
		return nil
	}
	p := v.now()
	switch {
	case v.head() == nil:
		scr.Say("no push is listed here")
		return nil
	case p == nil:
		scr.Say("it is still being read")
		return nil
	}
	switch a {
	case key.Open:
		cmd := scr.Timeline(filterOf(p), p.First)
		scr.Say("u goes back to the filter before")
		return cmd
	case key.Diff:
		if len(p.Changes) == 0 {
			scr.Say("push %d changed nothing", p.N)
			return nil
		}
		return scr.Act(key.Diff, v.Selected(scr))
	case key.Ladder:
		return scr.Act(key.Ladder, v.Selected(scr))
	case key.Resources:
		s := v.Selected(scr)
		if s.Client == "" {
			scr.Say("the client has not said who it is")
			return nil
		}
		return scr.Act(key.Resources, view.Selection{Client: s.Client})
	case key.Copy:
		return scr.Copy(v.text(scr, p), fmt.Sprintf("push %d", p.N))
	case key.Pager:
		return view.ToPager(scr, v, view.PagerText{Text: v.text(scr, p), Ext: "txt"})
	}
	return nil
}

func (v *View) follow(scr view.Screen) {
	if v.at == 0 {
		v.at = v.selected()
		scr.Say("this one stays selected, whatever comes")
		return
	}
	v.at = 0
	scr.Say("the newest is selected, whatever comes")
}

// text is all that is known of a push.
func (v *View) text(scr view.Screen, p *pushes.Push) string {
	f := form(scr)
	f.Most = 1 << 10
	return fmt.Sprintf("push %d\n", p.N) + push.Text(p, render.Style{}, 100, f)
}

func form(scr view.Screen) push.Form {
	return push.Form{Name: scr.Aliases().Name, Text: scr.Aliases().Text}
}

// mostNumbers is how many entries a filter names; of more, it has their range.
const mostNumbers = 40

// filterOf takes the responses of a push and their answers: by their numbers, or,
// where they are many, all of their types between the first and the last of them.
func filterOf(p *pushes.Push) string {
	var seqs []session.Seq
	parts, last := 0, p.Last
	for i := range p.Members {
		for j := range p.Members[i].Types {
			t := &p.Members[i].Types[j]
			parts++
			seqs = append(seqs, t.Seq)
			if t.Answer != 0 {
				seqs, last = append(seqs, t.Answer), max(last, t.Answer)
			}
		}
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	if len(seqs) > mostNumbers || parts < p.Responses || p.MoreClients > 0 {
		types := make([]string, len(p.Types))
		for i, t := range p.Types {
			types[i] = view.Quoted(strings.ToLower(t))
		}
		return fmt.Sprintf("seq:%d..%d type:%s", p.First, last, strings.Join(types, ","))
	}
	all := make([]string, len(seqs))
	for i, s := range seqs {
		all[i] = view.SeqText(s)
	}
	return "seq:" + strings.Join(all, ",")
}

// Selected is what was rejected, or else the first resource that changed.
func (v *View) Selected(scr view.Screen) view.Selection {
	p := v.now()
	if p == nil {
		return view.Selection{}
	}
	if s, is := rejected(p); is {
		return s
	}
	s := view.Selection{Seq: p.First}
	if len(p.Changes) > 0 {
		c := &p.Changes[max(slices.IndexFunc(p.Changes, func(c pushes.Change) bool { return c.How == pushes.Changed }), 0)]
		s = view.Selection{Seq: c.Seq, Type: c.Type, Name: c.Name}
	}
	if r, is := scr.Log().Index.BySeq(s.Seq); is {
		s.Client = scr.Log().Index.Words(&r).Client
	}
	return s
}

// rejected is the first thing that a client of a push rejects.
func rejected(p *pushes.Push) (view.Selection, bool) {
	for i := range p.Members {
		m := &p.Members[i]
		for j := range m.Types {
			t := &m.Types[j]
			if t.State != pushes.Rejects {
				continue
			}
			s := view.Selection{Client: m.Client, Seq: t.Seq, Type: t.Type}
			if k := slices.IndexFunc(p.Changes, func(c pushes.Change) bool { return c.Type == t.Type && c.How != pushes.Removed }); k >= 0 {
				s.Name = p.Changes[k].Name
			}
			return s, true
		}
	}
	return view.Selection{}, false
}
