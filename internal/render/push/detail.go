package push

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
)

// Said is a part of what there is to say of a push. Of parts with one label that
// follow each other, the first has it.
type Said struct {
	Label string
	Word
}

// Form says how a detail is written.
type Form struct {
	// Most is how many of each kind are named; 0: 8.
	Most int
	// Columns are how long a name may be; 0: as it is.
	Columns int
	// Name and Text write names and texts of peers; nil: as they are.
	Name, Text func(string) string
}

// Detail is all that there is to say of a push, what is wrong first.
func Detail(p *pushes.Push, f Form) []Said {
	d := &detail{p: p, Form: f}
	d.Most = cmp.Or(d.Most, 8)
	if d.Name == nil {
		d.Name = func(s string) string { return s }
	}
	if d.Text == nil {
		d.Text = func(s string) string { return s }
	}
	if d.Columns > 0 {
		d.names = shortname.New(d.all())
	}
	d.what()
	d.clients()
	d.gaps()
	d.unsent()
	d.changes()
	d.swaps()
	d.order()
	d.types()
	return d.out
}

type detail struct {
	Form
	p     *pushes.Push
	out   []Said
	names *shortname.Set
}

// all are the names that may be told of.
func (d *detail) all() (out []string) {
	add := func(names ...string) {
		for _, n := range names {
			out = append(out, render.Safe(d.Name(n)))
		}
	}
	for i := range d.p.Changes {
		add(d.p.Changes[i].Name, d.p.Changes[i].From)
	}
	for i := range d.p.Members {
		add(d.p.Members[i].Client)
	}
	for i := range d.p.Missing {
		add(d.p.Missing[i].Name, d.p.Missing[i].By, d.p.Missing[i].Instead)
	}
	for i := range d.p.Moves {
		add(d.p.Moves[i].Name)
		add(d.p.Moves[i].Instead...)
	}
	return out
}

func (d *detail) say(label string, look Look, text string) {
	d.out = append(d.out, Said{label, Word{look, text}})
}

// more says how many of a kind are not named.
func (d *detail) more(label string, n int) {
	if n > 0 {
		d.say(label, Muted, "and "+render.Number(n)+" more")
	}
}

// name is a name between quotes.
func (d *detail) name(s string) string { return `"` + d.fit(s) + `"` }

func (d *detail) client(s string) string { return render.OrDash(d.fit(s)) }

func (d *detail) fit(s string) string {
	if s = render.Safe(d.Name(s)); d.names == nil {
		return s
	}
	return d.names.Fit(s, d.Columns)
}

func (d *detail) what() {
	p := d.p
	text := "at " + render.TimeOfDay(p.Begun)
	if p.Server != "" {
		text += " from " + render.Safe(d.Text(p.Server))
	}
	text += ": " + render.Count(p.Responses, "response", "responses") + " to " + render.Count(p.Clients, "client", "clients")
	if took := p.Sent.Sub(p.Begun); took > 0 {
		text += " within " + render.Duration(took)
	}
	switch {
	case p.Version != "":
		version := render.Safe(p.Version)
		if d.Columns > 0 {
			version = render.Middle(version, d.Columns)
		}
		text += `, of version "` + version + `"`
	case p.Burst:
		text += ", in one burst"
	}
	if p.First == p.Last {
		text += fmt.Sprintf("; entry %d", p.First)
	} else {
		text += fmt.Sprintf("; entries %d to %d", p.First, p.Last)
	}
	d.say("sent", Plain, text)
	if p.Start {
		d.say("", Muted, "all of it was asked for: clients came, and were given what there is")
	}
}

// changes say what is not as it was, by type and in one line for each way.
func (d *detail) changes() {
	had, carried := 0, 0
	for i := range d.p.Each {
		had, carried = had+d.p.Each[i].Again, carried+d.p.Each[i].Resources
	}
	switch {
	case len(d.p.Changes) > 0:
	case d.p.Unsure:
		d.say("changed", Muted, "unknown")
		return
	case carried > 0 && had == carried:
		d.say("changed", Muted, "nothing: the clients had all of it with equal content")
		return
	default:
		d.say("changed", Muted, "nothing that is known")
		return
	}
	label := "changed"
	for at := 0; at < len(d.p.Changes); {
		typ := d.p.Changes[at].Type
		end := at
		for end < len(d.p.Changes) && d.p.Changes[end].Type == typ {
			end++
		}
		var parts []string
		for _, how := range []string{pushes.Added, pushes.Changed, pushes.Removed, pushes.Renamed} {
			if names := d.changed(d.p.Changes[at:end], how); len(names) > 0 {
				parts = append(parts, how+" "+render.SomeOf(names, d.Most))
			}
		}
		d.say(label, Plain, render.Safe(typ)+" "+strings.Join(parts, "; "))
		label, at = "", end
	}
	d.more("", d.p.MoreChanges)
}

func (d *detail) changed(all []pushes.Change, how string) (names []string) {
	for i := range all {
		c := &all[i]
		if c.How != how {
			continue
		}
		name := d.name(c.Name)
		if c.From != "" {
			name = d.name(c.From) + " to " + name
		}
		var aside []string
		if c.Clients != d.p.Clients {
			aside = append(aside, "for "+render.Count(c.Clients, "client", "clients"))
		}
		if c.Contents > 1 {
			aside = append(aside, "in "+render.Number(c.Contents)+" contents")
		}
		if len(aside) > 0 {
			name += " (" + strings.Join(aside, ", ") + ")"
		}
		names = append(names, name)
	}
	return names
}

// clients say who accepted it and when, and then who did not.
func (d *detail) clients() {
	p := d.p
	look := Plain
	if p.Accepted == p.Clients {
		look = Good
	}
	text := fmt.Sprintf("%s of %s accepted all of it", render.Number(p.Accepted), render.Count(p.Clients, "client", "clients"))
	switch {
	case p.FirstACK.IsZero():
	case p.FirstACK.Equal(p.LastACK):
		text += ", after " + since(p.LastACK, p.Begun)
	default:
		text += fmt.Sprintf(": the first ACK after %s, the last after %s", since(p.FirstACK, p.Begun), since(p.LastACK, p.Begun))
	}
	d.say("acks", look, text)
	for _, s := range []struct {
		state, label string
		look         Look
		count        int
	}{
		{pushes.Rejects, "nacked", Bad, p.Rejected},
		{pushes.Pends, "behind", Accent, p.Pending},
		{pushes.Gone, "left", Muted, p.Left},
		{pushes.Unclear, "unclear", Muted, p.Unclear},
	} {
		label, told := s.label, 0
		for i := range p.Members {
			m := &p.Members[i]
			if m.State != s.state {
				continue
			}
			if told++; told > d.Most {
				break
			}
			d.say(label, s.look, d.client(m.Client)+": "+d.standing(m))
			label = ""
		}
		if told > 0 {
			d.more("", s.count-min(told, d.Most))
		}
	}
	d.overcome()
	if p.Unsure {
		d.say("unseen", Muted, "part of the streams was not seen, so that changes may be missing here")
	}
}

// overcome says who rejected something first, and then accepted what came.
func (d *detail) overcome() {
	label, told := "nacked", 0
	for i := range d.p.Members {
		for j := range d.p.Members[i].Types {
			t := &d.p.Members[i].Types[j]
			if t.State != pushes.Accepts || t.Nacks == 0 {
				continue
			}
			if told++; told <= d.Most {
				text := fmt.Sprintf("%s rejected %s of %s before it accepted", d.client(d.p.Members[i].Client), render.Count(t.Nacks, "response", "responses"), render.Safe(t.Type))
				if t.Reason != "" {
					text += `: "` + render.Safe(d.Text(t.Reason)) + `"`
				}
				d.say(label, Warned, text)
				label = ""
			}
		}
	}
	d.more("", told-d.Most)
}

// standing says of a client what it has not accepted.
func (d *detail) standing(m *pushes.Client) string {
	var parts []string
	for i := range m.Types {
		t := &m.Types[i]
		typ := render.Safe(t.Type)
		switch t.State {
		case pushes.Rejects:
			text := fmt.Sprintf("rejected %s of entry %d", typ, t.Seq)
			if t.Answer != 0 {
				text += fmt.Sprintf(" with %d", t.Answer)
			}
			if t.Reason != "" {
				text += `: "` + render.Safe(d.Text(t.Reason)) + `"`
			}
			parts = append(parts, text)
		case pushes.Pends, pushes.Gone:
			parts = append(parts, fmt.Sprintf("no answer to %s of entry %d, sent at %s", typ, t.Seq, render.TimeOfDay(t.Sent)))
		case pushes.Unclear:
			parts = append(parts, fmt.Sprintf("what it made of %s of entry %d cannot be told", typ, t.Seq))
		}
	}
	return strings.Join(parts, "; ")
}

func (d *detail) unsent() {
	label := "unsent"
	for _, u := range d.p.Unsents[:min(len(d.p.Unsents), d.Most)] {
		text := fmt.Sprintf("%s wants %s %s, has it as it was, and was not sent it", d.client(u.Client), render.Safe(u.Type), d.name(u.Name))
		if u.Owes {
			text += "; it owes the answer to the response before"
		}
		d.say(label, Warned, text)
		label = ""
	}
	d.more("", len(d.p.Unsents)-d.Most)
}

// gaps say for how long clients were without something that others referred to.
func (d *detail) gaps() {
	label := "gap"
	for i := range d.p.Missing[:min(len(d.p.Missing), d.Most)] {
		g := &d.p.Missing[i]
		text := fmt.Sprintf("%s was without %s %s for %s", d.client(g.Client), render.Safe(g.Type), d.name(g.Name), between(g.Least, g.Most))
		if g.Open {
			text = fmt.Sprintf("%s is without %s %s, for %s so far", d.client(g.Client), render.Safe(g.Type), d.name(g.Name), render.Duration(g.Most))
		}
		by := render.Safe(g.ByType) + " " + d.name(g.By)
		switch {
		case g.How == pushes.Early:
			text += ": " + by + ", which refers to it, came before it"
		case g.Instead != "":
			text += ": it was removed before " + by + " referred to " + d.name(g.Instead)
		default:
			text += ": it was removed while " + by + " referred to it"
		}
		text += fmt.Sprintf("; from entry %d", g.From)
		switch {
		case g.Until != 0:
			text += fmt.Sprintf(" to %d", g.Until)
		case !g.Open:
			text += ", and then the client went away"
		}
		if g.Unsure {
			text += ", if what came then was accepted"
		}
		d.say(label, Warned, text)
		label = ""
	}
	d.more("", max(len(d.p.Missing)-d.Most, 0)+d.p.MoreGaps)
}

// between writes two bounds of a time.
func between(least, most time.Duration) string {
	a, b := render.Duration(least), render.Duration(most)
	switch {
	case least <= 0:
		return b + " at most"
	case a == b:
		return a
	}
	return a + " to " + b
}

func (d *detail) swaps() {
	label := "swap"
	for i := range d.p.Moves[:min(len(d.p.Moves), d.Most)] {
		s := &d.p.Moves[i]
		instead := make([]string, len(s.Instead))
		for j, n := range s.Instead {
			instead[j] = d.name(n)
		}
		text := fmt.Sprintf("%s %s gave way to %s at %s", render.Safe(s.Type), d.name(s.Name), render.SomeOf(instead, d.Most), render.Count(s.Clients, "client", "clients"))
		look := Plain
		switch {
		case s.Gapless == s.Clients:
			text += ", without a gap"
		case s.Gapless > 0:
			text += ", without a gap at " + render.Number(s.Gapless)
		default:
			text += ", with a gap at each"
		}
		if s.Margin > 0 {
			text += ": who uses them had accepted so " + render.Duration(s.Margin) + " before"
		} else if s.Margin < 0 {
			text += ": who uses them accepted so " + render.Duration(-s.Margin) + " after it was removed"
		}
		if s.Gapless < s.Clients {
			look = Warned
		}
		d.say(label, look, text)
		label = ""
	}
	d.more("", len(d.p.Moves)-d.Most)
}

// order says in which order types were sent and accepted, over all clients.
func (d *detail) order() {
	p := d.p
	if len(p.Each) < 2 {
		return
	}
	sent, accepted := make([]string, 0, len(p.Each)), make([]string, 0, len(p.Each))
	done := slices.DeleteFunc(slices.Clone(p.Each), func(t pushes.Type) bool { return t.Accepted.IsZero() })
	slices.SortStableFunc(done, func(a, b pushes.Type) int {
		return cmp.Or(a.Accepted.Compare(b.Accepted), cmp.Compare(a.AcceptedSeq, b.AcceptedSeq))
	})
	for i := range p.Each {
		sent = append(sent, render.Safe(p.Each[i].Type))
	}
	for i := range done {
		accepted = append(accepted, render.Safe(done[i].Type))
	}
	text := "sent " + strings.Join(sent, ", ")
	switch {
	case slices.Equal(sent, accepted):
		text = "sent and accepted " + strings.Join(sent, ", ")
	case len(accepted) > 0:
		text += "; accepted first " + strings.Join(accepted, ", ")
	}
	d.say("order", Plain, text)
}

// types say what each type was: how much, and how much for nothing.
func (d *detail) types() {
	label := "types"
	for i := range d.p.Each {
		t := &d.p.Each[i]
		text := fmt.Sprintf("%s  %s to %s, %s in %s", render.Safe(t.Type), render.Count(t.Responses, "response", "responses"),
			render.Count(t.Clients, "client", "clients"), render.Size(t.Bytes), render.Count(t.Resources, "resource", "resources"))
		if t.Again > 0 {
			text += fmt.Sprintf("; %s (%s) the clients had", render.Number(t.Again), render.Size(t.AgainSize))
		}
		switch {
		case t.Accepted.IsZero():
			text += "; not accepted"
		case t.Accepted.Equal(t.AcceptedLast):
			text += "; accepted after " + since(t.Accepted, d.p.Begun)
		default:
			text += fmt.Sprintf("; accepted after %s to %s", since(t.Accepted, d.p.Begun), since(t.AcceptedLast, d.p.Begun))
		}
		d.say(label, Plain, text)
		label = ""
	}
	if n := d.p.Idle; n > 0 {
		d.say("idle", Muted, fmt.Sprintf("%s with %s changed nothing of what their clients had", render.Count(n, "response", "responses"), render.Size(d.p.IdleBytes)))
	}
}
