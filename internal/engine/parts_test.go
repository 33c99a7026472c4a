package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/session"
)

// A note names as many clusters as it holds, and a recording has no more of them.
func TestStaticNotes(t *testing.T) {
	name := strings.Repeat("x", 997) // 1,000 bytes with its quotes and a comma
	fits := (maxStatic - 2) / 1000
	for n, want := range map[int]int{1: 1, fits: fits, fits + 1: fits} {
		var names []string
		if err := json.Unmarshal([]byte(StaticNote(slicesOf(name, n)).Text), &names); err != nil || len(names) != want {
			t.Errorf("of %d names %d are noted, %v", n, len(names), err)
		}
	}
	last := strings.Repeat("y", maxStatic-len(`["",]`))
	if n := StaticNote([]string{last}); n == nil || len(n.Text) > maxStatic {
		t.Error("a name that fits is left out")
	}
	if n := StaticNote([]string{last + "y"}); n != nil {
		t.Errorf("a name of %d bytes is noted", len(last)+1)
	}
	if StaticNote(nil) != nil {
		t.Error("a note of nothing")
	}
	k := New(Options{})
	half := StaticNote(slicesOf(name, fits/2))
	for i, c := range []struct {
		note *session.Note
		want int
	}{
		{half, fits / 2},
		{nil, fits / 2},
		{&session.Note{Code: "other", Text: `["a"]`}, fits / 2},
		{&session.Note{Code: session.NoteStatic, Text: `["a"`}, fits / 2},
		{&session.Note{Code: session.NoteStatic, Text: `[]`}, fits / 2},
		{half, 2 * (fits / 2)},
		{half, 2 * (fits / 2)},
	} {
		k.Step(&session.Entry{Seq: session.Seq(i + 1), Kind: session.KindNote, Note: c.note})
		if len(k.Static()) != c.want {
			t.Errorf("after note %d there are %d", i, len(k.Static()))
		}
	}
	if fmt.Sprint(k.Needed()) != "[1 6]" {
		t.Errorf("needed are %v", k.Needed())
	}
}

func slicesOf(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// What a clock was set forward is no time that passed, for those who wait.
func TestLeaps(t *testing.T) {
	day := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return day.Add(time.Duration(s) * time.Second) }
	k := New(Options{})
	clock := &session.Note{Code: session.NoteClock}
	first := session.Entry{Time: at(0), Kind: session.KindNote, Note: clock}
	if d := k.Leap(&first); d != 0 {
		t.Errorf("before the first entry %v did not pass", d)
	}
	k.Step(&first)
	for _, c := range []struct {
		e    session.Entry
		leap time.Duration
	}{
		{session.Entry{Time: at(10), Kind: session.KindTime}, 0},
		{session.Entry{Time: at(70), Kind: session.KindNote, Note: clock}, time.Minute},
		{session.Entry{Time: at(80), Kind: session.KindNote, Note: &session.Note{Code: "other"}}, 0},
		{session.Entry{Time: at(85), Kind: session.KindTime, Note: clock}, 0},
		{session.Entry{Time: at(90), Kind: session.KindNote}, 0},
		{session.Entry{Time: at(90), Kind: session.KindNote, Note: clock}, 0},
		{session.Entry{Time: at(100), Kind: session.KindNote, Note: clock}, 10 * time.Second},
	} {
		if d := k.Leap(&c.e); d != c.leap {
			t.Errorf("before %v %v did not pass, want %v", c.e.Time, d, c.leap)
		}
		k.Step(&c.e)
	}
	for _, c := range []struct{ from, to, want int }{
		{0, 100, 30}, {0, 69, 69}, {0, 70, 10}, {10, 70, 0}, {70, 100, 20}, {69, 70, 0}, {70, 71, 1}, {71, 99, 28}, {100, 200, 100}, {50, 20, 0},
	} {
		if d := k.Passed(at(c.from), at(c.to)); d != time.Duration(c.want)*time.Second {
			t.Errorf("from %d to %d there passed %v, want %d s", c.from, c.to, d, c.want)
		}
	}
	for i := range maxLeaps - 1 {
		k.Step(&session.Entry{Time: at(200 + i), Kind: session.KindTime})
		k.Step(&session.Entry{Time: at(201 + i), Kind: session.KindNote, Note: clock})
	}
	if d := k.Passed(at(0), at(80)); d != 80*time.Second {
		t.Errorf("a leap that is forgotten makes %v of 80 s", d)
	}
	if d := k.Passed(at(80), at(100)); d != 10*time.Second {
		t.Errorf("the oldest leap that is known makes %v of 20 s", d)
	}
	for text, problem := range map[string]string{
		"1970-01-01T00:00:00Z": "", "1969-12-31T23:59:59Z": "its time is before 1970, and is passed over", "2100-12-31T23:59:59Z": "", "2101-01-01T00:00:00Z": "its time is after 2100, and is passed over",
	} {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		e := session.Entry{Time: when, Kind: session.KindTime}
		if New(Options{}).Step(&e); strings.Join(e.Problems, "") != problem {
			t.Errorf("%s: %q", text, e.Problems)
		}
	}
	k = New(Options{})
	for i, c := range []struct{ after, problems int }{{0, 0}, {maxLeap, 0}, {2*maxLeap + 1, 1}, {maxLeap + 1, 0}, {1, 0}, {-1, 0}} {
		e := session.Entry{Time: at(c.after), Kind: session.KindTime}
		if k.Step(&e); len(e.Problems) != c.problems {
			t.Errorf("%d: %q", i, e.Problems)
		}
	}
}

// A version that stood for something else is known again by each client that saw it,
// whoever else has seen what since.
func TestEditions(t *testing.T) {
	k := New(Options{})
	contents := make(map[string]*Content)
	of := func(text string) *Content {
		if contents[text] == nil {
			contents[text] = &Content{Facts: &inspect.Facts{Hash: [16]byte([]byte(fmt.Sprintf("%-16.16s", text)))}}
		}
		return contents[text]
	}
	s := &Subscription{Key: "CDS", Stream: &Stream{Server: "s"}}
	seen := map[string]*Editions{"a": {}, "b": {}, "c": {}}
	for i, c := range []struct {
		who, version, content string
		reused                bool
	}{
		{"a", "1", "x", false},
		{"b", "1", "x", false},
		{"a", "2", "y", false},
		{"a", "1", "x", false},
		{"a", "2", "z", true},
		{"a", "1", "q", true},
		{"b", "2", "z", false},
		{"b", "2", "y", true},
		{"c", "2", "x", false},
		{"c", "1", "y", false},
		{"b", "1", "x", false},
		{"b", "1", "w", true},
		{"b", "3", "w", false},
		{"c", "2", "x", false},
		{"c", "2", "y", true},
	} {
		if got := k.Reused(*seen[c.who], "web", c.version, of(c.content)); got != c.reused {
			t.Errorf("%d: %s of %s is used again: %v", i, c.version, c.who, got)
		}
		k.Remember(seen[c.who], s, "web", c.version, of(c.content))
	}
	if k.Reused(*seen["a"], "other", "1", of("new")) || k.Reused(Editions{}, "web", "1", of("new")) {
		t.Error("of what was never seen")
	}
	// One that comes later shares the list if it is not too far behind.
	long := Editions{}
	for i := range maxEditions {
		k.Remember(&long, s, "long", fmt.Sprint(i), of(fmt.Sprint(i)))
	}
	for back, shares := range map[int]bool{1: true, nearEditions: true, nearEditions + 1: false} {
		var late Editions
		at := maxEditions - back
		k.Remember(&late, s, "long", fmt.Sprint(at), of(fmt.Sprint(at)))
		if (late["long"].editions == long["long"].editions) != shares {
			t.Errorf("one that is %d behind shares the list: %v", back, !shares)
		}
		if k.Reused(late, "long", fmt.Sprint(at-1), of("new")) {
			t.Errorf("one that is %d behind knows what was before it", back)
		}
	}
	k.Remember(&long, s, "long", "one more", of("one more"))
	if n := len(long["long"].list); n != maxEditions/2+1 {
		t.Errorf("of a long history %d are kept", n)
	}
	if first := maxEditions / 2; !k.Reused(long, "long", fmt.Sprint(first), of("new")) || k.Reused(long, "long", fmt.Sprint(first-1), of("new")) {
		t.Error("it keeps others than the newest half")
	}
	k.past.budget = 0
	k.past.fit()
	if k.Reused(*seen["a"], "web", "1", of("new")) {
		t.Error("what was let go is known")
	}
	if len(*seen["a"]) != 0 || len(long) != 0 || k.past.used != 0 {
		t.Errorf("names that were let go are kept: %d and %d, %d bytes", len(*seen["a"]), len(long), k.past.used)
	}
	k.Remember(seen["a"], s, "web", "1", of("x"))
	if !k.Reused(*seen["a"], "web", "1", of("new")) {
		t.Error("it does not begin anew")
	}
	list, part := (*seen["a"])["web"].memento, (*seen["a"])["web"].place
	if k.past.used != list.bytes+part.bytes || k.past.recent.Len() != 2 {
		t.Errorf("%d bytes are reckoned for %d", k.past.used, k.past.recent.Len())
	}
}

// Those who look at something remember one value of a type each.
func TestSlots(t *testing.T) {
	var m Slots
	*Slot[int](&m) = 5
	*Slot[string](&m) = "a"
	*Slot[int](&m)++
	if *Slot[int](&m) != 6 || *Slot[string](&m) != "a" || len(m) != 2 {
		t.Errorf("%v", m)
	}
}

// Of nonces the newest are known, and of which no more is said.
func TestUsed(t *testing.T) {
	u := used{seed: newLists().seed}
	if u.Has("0") || u.Full() {
		t.Error("it knows something")
	}
	for i := range MaxNonces + fewUsed {
		if u.Full() != (i >= MaxNonces) {
			t.Errorf("after %d it is full: %v", i, u.Full())
		}
		u.add(u.hash(fmt.Sprint(i)))
		if !u.Has(fmt.Sprint(i)) {
			t.Errorf("%d is not known", i)
		}
	}
	for i := range MaxNonces + fewUsed {
		if u.Has(fmt.Sprint(i)) != (i >= fewUsed) {
			t.Errorf("%d is known: %v", i, i < fewUsed)
		}
	}
	if u.Has("another") || len(u.ring) != MaxNonces {
		t.Errorf("%d are kept", len(u.ring))
	}
}

// Inventories share what they have in common, and change each for itself.
func TestInventory(t *testing.T) {
	var v inventory
	name := func(i int) string { return fmt.Sprintf("outbound|80||service-%d.shop.svc.cluster.local", i) }
	for i := range 200 {
		v.put(&Resource{Name: name(i), Version: "1"})
		v.put(&Resource{Name: name(i), Version: "2"})
	}
	c := v.clone()
	c.remove(name(0))
	c.remove(name(0))
	c.remove("nobody")
	c.put(&Resource{Name: name(1), Version: "3"})
	c.put(&Resource{Name: "more"})
	c.remove("more")
	back := v.Get(name(2))
	c.put(&Resource{Name: name(2), Version: "3"})
	c.put(back)
	for i := 100; i < 160; i++ {
		c.remove(name(i))
	}
	count := func(v *inventory) (n int) {
		for at, it := range v.All() {
			if at != it.Name || v.Get(at) != it {
				t.Errorf("%s is %v", at, it)
			}
			n++
		}
		return n
	}
	if v.Len() != 200 || count(&v) != 200 || len(v.Names()) != 200 || v.Get(name(0)) == nil || v.Get(name(1)).Version != "2" {
		t.Errorf("the first has %d, %d", v.Len(), count(&v))
	}
	if c.Len() != 139 || count(&c) != 139 || c.Get(name(0)) != nil || c.Get(name(1)).Version != "3" || c.Get(name(2)) != back || c.Get(name(130)) != nil {
		t.Errorf("the second has %d, %d", c.Len(), count(&c))
	}
	k := New(Options{})
	cold := inventory{cold: k.chill(&c), size: c.Len()}
	if cold.Len() != 139 || count2(&cold) != 139 || cold.Get(name(0)) != nil || cold.Get(name(1)).Version != "3" {
		t.Errorf("of what has ended there are %d", cold.Len())
	}
	warm := cold.clone()
	if warm.Len() != 139 || count(&warm) != 139 {
		t.Errorf("what goes on has %d", warm.Len())
	}
	for range v.All() {
		break
	}
	for range cold.All() {
		break
	}
}

func count2(v *inventory) (n int) {
	for range v.All() {
		n++
	}
	return n
}

// What a text of a peer says first comes first, and in one line.
func TestReasons(t *testing.T) {
	for text, want := range map[string]string{
		"no\n  such\tcluster":                               "no such cluster",
		"goo.gle/debugproto name: \"a\"\n more\n: why":      `why, in name: "a" more`,
		"goo.gle/debugproto name: \"a\"\n: one\n: why":      `why, in name: "a" : one`,
		"name: \"a\"\n: why":                                `name: "a" : why`,
		"goo.gle/debugproto what":                           "what",
		"it says goo.gle/debugonly that":                    "it says that",
		strings.Repeat("a", 300):                            strings.Repeat("a", 300),
		strings.Repeat("a", 151) + strings.Repeat("b", 150): strings.Repeat("a", 148) + " … " + strings.Repeat("b", 148),
		strings.Repeat("é", 151):                            strings.Repeat("é", 74) + " … " + strings.Repeat("é", 74),
		strings.Repeat("a", 1<<16) + "b":                    strings.Repeat("a", 148) + " … " + strings.Repeat("a", 147) + "b",
		"":                                                  "",
	} {
		if got := Reason(text); got != want {
			t.Errorf("%.40q becomes\n%q, want\n%q", text, got, want)
		}
	}
	if s := Short(strings.Repeat("a", maxKey)); len(s) != maxKey {
		t.Errorf("%d bytes are kept of as many as are", len(s))
	}
	if a, b := Short(strings.Repeat("a", maxKey+1)), Short(strings.Repeat("a", maxKey+2)); a == b || len(a) != maxKey+len("…")+32 {
		t.Errorf("%q and %q", a, b)
	}
}

// A collection that is asked for has what is below it, with the same parameters.
func TestGlobs(t *testing.T) {
	const root = "xdstp://a/envoy.config.cluster.v3.Cluster"
	for _, c := range []struct {
		asked, name  string
		asks, covers bool
		isGlob       bool // what is asked for
	}{
		{root + "/*", root + "/web", true, true, true},
		{root + "/*", root + "/shop/web", false, true, true},
		{root + "/shop/*", root + "/shop/web", true, true, true},
		{root + "/shop/*", root + "/web", false, false, true},
		{root + "/*?zone=a", root + "/web?zone=a", true, true, true},
		{root + "/*?zone=a", root + "/web?zone=b", false, false, true},
		{root + "/*?zone=a", root + "/web", false, false, true},
		{root + "/*", root + "/web?zone=a", false, false, true},
		{root + "/web", root + "/web", true, false, false},
		{"/*", "/web", true, false, true},
		{"web", "web", true, false, false},
		{"web", "other", false, false, false},
		{"*", "web", false, false, false},
	} {
		var s Subscription
		s.Names.add(c.asked)
		if s.Asks(c.name) != c.asks || s.Names.Covers(c.name) != c.covers || IsGlob(c.asked) != c.isGlob {
			t.Errorf("%s of %s: asks %v, covers %v, a glob %v", c.name, c.asked, s.Asks(c.name), s.Names.Covers(c.name), IsGlob(c.asked))
		}
	}
	if globOf("web") != "" {
		t.Errorf("%q has web", globOf("web"))
	}
	day := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	s := Subscription{Dropped: map[string]dropped{"web": {At: day}}}
	for after, lately := range map[time.Duration]bool{0: true, time.Minute: true, time.Minute + 1: false} {
		if s.WantedLately("web", day.Add(after), time.Minute) != lately || s.WantedLately("other", day.Add(after), time.Minute) {
			t.Errorf("%v after it was given up it was wanted lately: %v", after, !lately)
		}
	}
}

// A node is remembered unless it takes too much.
func TestNodesThatAreKept(t *testing.T) {
	fill := func(n int) string { return strings.Repeat("x", n) }
	for what, n := range map[string]func(*decode.Node, int){
		"id": func(n *decode.Node, size int) { n.ID = fill(size) }, "cluster": func(n *decode.Node, size int) { n.Cluster = fill(size) }, "agent": func(n *decode.Node, size int) { n.UserAgent = fill(size) },
		"version": func(n *decode.Node, size int) { n.UserAgentVersion = fill(size) }, "region": func(n *decode.Node, size int) { n.Region = fill(size) }, "zone": func(n *decode.Node, size int) { n.Zone = fill(size) },
		"feature": func(n *decode.Node, size int) { n.ClientFeatures = []string{fill(size - 16)} },
	} {
		for size, is := range map[int]bool{maxNode: true, maxNode + 1: false} {
			var node decode.Node
			if n(&node, size); (kept(&node) != nil) != is {
				t.Errorf("a %s of %d is kept: %v", what, size, !is)
			}
			node.ID, node.Zone = node.ID+"i", node.Zone+"z"
			if n(&node, size-2); what != "id" && what != "zone" && (kept(&node) != nil) != is {
				t.Errorf("a %s of %d beside others is kept: %v", what, size-2, !is)
			}
		}
	}
}

// Names that were given up are remembered up to a bound, and then all are forgotten but
// the newest.
func TestNamesGivenUp(t *testing.T) {
	names := make([]string, MaxDropped-1)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	k, s := &Engine{}, &Subscription{Wild: ExplicitWild}
	for _, step := range []struct {
		removed []string
		left    int
	}{{names, MaxDropped - 1}, {[]string{"last"}, MaxDropped}, {[]string{"newest"}, 1}} {
		k.drop(s, &Request{Removed: step.removed})
		if len(s.Dropped) != step.left {
			t.Fatalf("after %d more were given up, %d are remembered, not %d", len(step.removed), len(s.Dropped), step.left)
		}
	}
	if _, is := s.Dropped["newest"]; !is {
		t.Error("the newest is not remembered")
	}
}
