package push

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// said are the texts behind a label, and the colour of the first.
func said(p *pushes.Push, label string, f Form) (text string, look Look) {
	var out []string
	last := ""
	for _, s := range Detail(p, f) {
		if s.Label != "" {
			last = s.Label
		}
		if last != label {
			continue
		}
		if len(out) == 0 {
			look = s.Look
		}
		out = append(out, s.Text)
	}
	return strings.Join(out, "\n"), look
}

func TestTypesInSoManyColumns(t *testing.T) {
	r := Row{Types: []string{"CDS", "EDS", "LDS"}}
	for columns, want := range map[int]string{
		12: "CDS EDS LDS", 11: "CDS EDS LDS", 10: "CDS EDS +1", 9: "CDS +2", 6: "CDS +2", 5: "CDS…",
	} {
		if got := r.TypesIn(columns); got != want {
			t.Errorf("in %d columns: %q, want %q", columns, got, want)
		}
	}
}

// A list has more columns from a width on.
func TestColumnsOfAList(t *testing.T) {
	for columns, want := range map[int]string{
		0:   "PUSH TIME VERSION TYPES CHANGED ACCEPTED AFTER NOTES, times of 12, types of 19",
		112: "PUSH TIME VERSION TYPES CHANGED ACCEPTED AFTER NOTES, times of 12, types of 19",
		111: "PUSH TIME TYPES CHANGED ACCEPTED AFTER NOTES, times of 12, types of 15",
		90:  "PUSH TIME TYPES CHANGED ACCEPTED AFTER NOTES, times of 12, types of 15",
		89:  "PUSH TIME TYPES CHANGED ACCEPTED AFTER NOTES, times of 8, types of 11",
		60:  "PUSH TIME TYPES CHANGED ACCEPTED AFTER NOTES, times of 8, types of 11",
		59:  "PUSH TIME TYPES ACCEPTED NOTES, times of 8, types of 7",
	} {
		c := ColumnsFor(columns)
		got := fmt.Sprintf("%s, times of %d, types of %d", strings.Join(strings.Fields(strings.Join(c.Titles(), " ")), " "), c.Time, c.Types)
		if got != want {
			t.Errorf("%d columns:\n%s, want\n%s", columns, got, want)
		}
	}
}

// A note stands whole on a line that it fills, and is shortened where there is a column less.
func TestNotesAtTheEdge(t *testing.T) {
	h := pushes.Head{Clients: 9, Rejected: 3, Pending: 2, Types: []string{"CDS"}}
	whole := strings.TrimSuffix(TableLine(&h, render.Style{}, 91), "\n")
	width := render.Width(whole)
	if !strings.HasSuffix(whole, "3 rejected, 2 pending") || width <= 62 {
		t.Fatalf("%q", whole)
	}
	for columns, want := range map[int]string{width: "3 rejected, 2 pending", width - 1: "3 rejected, 2 pendi…"} {
		if got := strings.TrimSuffix(TableLine(&h, render.Style{}, columns), "\n"); !strings.HasSuffix(got, want) || render.Width(got) > columns {
			t.Errorf("in %d columns: %q", columns, got)
		}
	}
}

// Who accepted a push is in a colour of its own if that is all, on its line and in its detail.
func TestAllAccepted(t *testing.T) {
	for accepted, want := range map[int]Look{1: Plain, 2: Good} {
		p := pushes.Push{Head: pushes.Head{Clients: 2, Accepted: accepted}}
		if r := NewRow(&p.Head); r.Clients != (Word{want, fmt.Sprintf("%d/2", accepted)}) {
			t.Errorf("%d of 2 accepted: %+v", accepted, r.Clients)
		}
		if text, look := said(&p, "acks", Form{}); look != want || text != fmt.Sprintf("%d of 2 clients accepted all of it", accepted) {
			t.Errorf("%d of 2 accepted: %q in %d", accepted, text, look)
		}
	}
}

// What changed nothing is told as that, and what is not known as that.
func TestNothingChanged(t *testing.T) {
	for _, v := range []struct {
		resources, again int
		want             string
	}{
		{2, 2, "nothing: the clients had all of it with equal content"},
		{2, 1, "nothing that is known"},
		{0, 0, "nothing that is known"},
	} {
		p := pushes.Push{Each: []pushes.Type{{Type: "CDS", Resources: v.resources, Again: v.again}}}
		if text, _ := said(&p, "changed", Form{}); text != v.want {
			t.Errorf("%+v: %q", v, text)
		}
	}
}

// So many of each kind are named, and it is said how many more there are.
func TestNamesSoMany(t *testing.T) {
	p := pushes.Push{Head: pushes.Head{Clients: 9, Rejected: 3}}
	for i := range 3 {
		client := fmt.Sprint("r", i)
		p.Members = append(p.Members, pushes.Client{Client: client, State: pushes.Rejects, Types: []pushes.Part{{Type: "CDS", State: pushes.Rejects, Seq: 5}}})
		p.Unsents = append(p.Unsents, pushes.Unsent{Client: client, Type: "CDS", Name: "a"})
		p.Missing = append(p.Missing, pushes.Gap{Client: client, Type: "CDS", Name: "a", Most: 1, Until: 7})
		p.Moves = append(p.Moves, pushes.Swap{Type: "CDS", Name: client, Clients: 1})
	}
	overcame := pushes.Push{}
	for i := range 3 {
		overcame.Members = append(overcame.Members, pushes.Client{Client: fmt.Sprint("r", i), State: pushes.Accepts, Types: []pushes.Part{
			{Type: "CDS", State: pushes.Accepts, Nacks: 1}, {Type: "LDS", State: pushes.Accepts}, {Type: "RDS", State: pushes.Pends, Nacks: 1},
		}})
	}
	for _, v := range []struct {
		label string
		p     *pushes.Push
	}{{"nacked", &p}, {"unsent", &p}, {"gap", &p}, {"swap", &p}, {"nacked", &overcame}} {
		for most, more := range map[int]string{4: "", 3: "", 2: "and 1 more", 1: "and 2 more"} {
			text, _ := said(v.p, v.label, Form{Most: most})
			lines := strings.Split(text, "\n")
			if more != "" {
				if last := lines[len(lines)-1]; last != more {
					t.Errorf("%s, %d at most: it ends with %q", v.label, most, last)
				}
				lines = lines[:len(lines)-1]
			}
			if len(lines) != min(most, 3) || strings.Contains(strings.Join(lines, "\n"), " more") {
				t.Errorf("%s, %d at most:\n%s", v.label, most, text)
			}
		}
	}
	p.MoreGaps = 4
	if text, _ := said(&p, "gap", Form{Most: 8}); !strings.HasSuffix(text, "\nand 4 more") {
		t.Errorf("gaps that are not there:\n%s", text)
	}
}

func TestSwaps(t *testing.T) {
	for _, v := range []struct {
		gapless int
		margin  time.Duration
		want    string
		look    Look
	}{
		{2, 0, ", without a gap", Plain},
		{2, time.Second, ", without a gap: who uses them had accepted so 1s before", Plain},
		{1, 0, ", without a gap at 1", Warned},
		{0, 0, ", with a gap at each", Warned},
		{0, -time.Second, ", with a gap at each: who uses them accepted so 1s after it was removed", Warned},
	} {
		p := pushes.Push{Moves: []pushes.Swap{{Type: "CDS", Name: "a", Instead: []string{"b"}, Clients: 2, Gapless: v.gapless, Margin: v.margin}}}
		if text, look := said(&p, "swap", Form{}); text != `CDS "a" gave way to "b" at 2 clients`+v.want || look != v.look {
			t.Errorf("%d gapless, %v: %q in %d", v.gapless, v.margin, text, look)
		}
	}
}

// The order is told of two types or more, and what was accepted if anything was.
func TestOrderOfTypes(t *testing.T) {
	cds, eds := pushes.Type{Type: "CDS"}, pushes.Type{Type: "EDS"}
	took := func(of pushes.Type, ms int) pushes.Type {
		of.Accepted = at(ms)
		return of
	}
	for _, v := range []struct {
		each []pushes.Type
		want string
	}{
		{[]pushes.Type{took(cds, 1)}, ""},
		{[]pushes.Type{cds, eds}, "sent CDS, EDS"},
		{[]pushes.Type{took(cds, 1), eds}, "sent CDS, EDS; accepted first CDS"},
		{[]pushes.Type{took(cds, 1), took(eds, 2)}, "sent and accepted CDS, EDS"},
		{[]pushes.Type{took(cds, 2), took(eds, 1)}, "sent CDS, EDS; accepted first EDS, CDS"},
	} {
		p := pushes.Push{Each: v.each}
		if text, _ := said(&p, "order", Form{}); text != v.want {
			t.Errorf("%q, want %q", text, v.want)
		}
	}
	for idle, want := range map[int]string{0: "", 1: "1 response with 0 B changed nothing of what their clients had"} {
		p := pushes.Push{Head: pushes.Head{Idle: idle}}
		if text, _ := said(&p, "idle", Form{}); text != want {
			t.Errorf("%d idle: %q", idle, text)
		}
	}
}

// A list in the machine-readable form has what there is, and is empty of nothing.
func TestListsOfAnObject(t *testing.T) {
	for want, list := range map[string][]string{"[]": nil, `["a","b"]`: {"a", "b"}} {
		p := pushes.Push{
			Head:    pushes.Head{Types: list},
			Members: []pushes.Client{{Order: list}},
			Moves:   []pushes.Swap{{Instead: list, Via: list}},
		}
		text, err := render.JSONLine(NewObject(&p))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"types", "order", "instead", "via"} {
			if !strings.Contains(string(text), `"`+name+`":`+want) {
				t.Errorf("%s is not %s in %s", name, want, text)
			}
		}
	}
}
