package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

func checked(t *testing.T, o check.Options, text string, notes ...*session.Note) *check.Checker {
	t.Helper()
	s := parsed(t, text)
	k := check.NewChecker(o)
	for _, n := range notes {
		k.Step(&session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: n})
	}
	for e := range s.Entries() {
		k.Step(&e)
	}
	return k
}

const toNowhere = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[web]
C> type=CDS V=1 N=a R=[]
C> type=LDS V= N= R=[]
S< type=LDS V=1 N=b res=[l1{rds=r1}]
C> type=RDS V= N= R=[r1]
C> type=LDS V=1 N=b R=[]
S< type=RDS V=1 N=c res=[r1{web,Wbe}]
C> type=RDS V=1 N=c R=[r1]
t=+16s -- tick
`

// The finding says all that one needs to mend the reference.
func TestReferenceIsNamed(t *testing.T) {
	f := one(t, toNowhere, "reference-never-sent")
	const want = `RDS "r1" names cluster "Wbe" at virtual_hosts[0].routes[1].route.cluster, and it was not sent within 15s; the nearest name that was sent is "web"`
	if f.Message != want || f.Count != 1 || f.Seqs[0] == 0 || fmt.Sprint(f.Names) != "[Wbe]" {
		t.Errorf("%+v", f)
	}
}

// What a bootstrap that is known has is neither missed nor missing.
func TestBootstrapHasTheCluster(t *testing.T) {
	bootstrapHas(t, checked(t, check.Options{Static: []string{"Wbe"}}, toNowhere))
	bootstrapHas(t, checked(t, check.Options{}, toNowhere, engine.StaticNote([]string{"other", "Wbe"})))
}

// What a recording says of a bootstrap is bounded, and need not be true.
func TestStaticNotes(t *testing.T) {
	note := func(text string) *session.Note { return &session.Note{Code: session.NoteStatic, Text: text} }
	large := note(`["` + strings.Repeat("x", 1<<16) + `","Wbe"]`)
	many := engine.StaticNote(slices.Repeat([]string{"\x00\"name"}, 1<<16))
	for _, notes := range [][]*session.Note{{nil}, {note("")}, {note("Wbe")}, {note(`{"Wbe":1}`)}, {note(`["Wbe"`)}, {large}, {many, many, note(`["Wbe"]`)}} {
		if !has(checked(t, check.Options{}, toNowhere, notes...).Findings(), "reference-never-sent") {
			t.Errorf("%.100v is believed", notes)
		}
	}
	if len(many.Text) > 1<<16 || engine.StaticNote(nil) != nil {
		t.Errorf("a note of %d bytes, or one of nothing", len(many.Text))
	}
}

func bootstrapHas(t *testing.T, k *check.Checker) {
	t.Helper()
	if found := k.Findings(); has(found, "reference-never-sent") {
		t.Error(words(found))
	}
	tree := k.Tree("n1")
	for _, n := range tree.Roots[0].Children[0].Children {
		if want := map[string]engine.ResourceState{"web": engine.Acked, "Wbe": engine.NotOverXDS}[n.Name]; n.State != want {
			t.Errorf("%s is %s, want %s", n.Name, n.State, want)
		}
	}
	if len(tree.Missing) > 0 {
		t.Errorf("%s is missing", tree.Missing[0].Name)
	}
}

// Of a listener without any of its clusters not each gets a finding.
func TestManyReferences(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	found := of(judgeText(t, strings.Replace(toNowhere, "Wbe", strings.Join(names, ","), 1)), "reference-never-sent")
	if len(found) != 9 || len(found[8].Names) != 32 || !strings.Contains(found[8].Message, " and 245 more not sent") {
		t.Errorf("%d findings: %s", len(found), words(found))
	}
}

// Many clients have one typo among many clusters.
func TestOneTypoOfManyClients(t *testing.T) {
	const clients, clusters = 20, 200
	names := make([]string, clusters)
	for i := range names {
		names[i] = nameOf(i)
	}
	has, lacks := `"`+strings.Join(names, `","`)+`"`, strings.Replace(names[clusters/2], "service", "sevrice", 1)
	var b strings.Builder
	for i := range clients {
		fmt.Fprintf(&b, "-- stream %d\nC> type=CDS V= N= R=[] node=n%d\nS< type=CDS V=1 N=a res=[%s]\nC> type=CDS V=1 N=a R=[]\n", i+1, i, has)
		fmt.Fprintf(&b, "C> type=RDS V= N= R=[r1]\nS< type=RDS V=1 N=b res=[r1{%q}]\nC> type=RDS V=1 N=b R=[r1]\n", lacks)
	}
	b.WriteString("t=+16s -- tick\n")
	found := of(checked(t, check.Options{}, b.String()).Findings(), "reference-never-sent")
	if len(found) != clients || !strings.Contains(found[clients-1].Message, fmt.Sprintf("nearest name that was sent is %q", names[clusters/2])) {
		t.Errorf("%d findings: %s", len(found), found[len(found)-1].Message)
	}
}

// Routes that come before their clusters name more of these than are waited for.
func TestTypoAmongMany(t *testing.T) {
	names := make([]string, 300)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	all := strings.Join(names, ",")
	f := one(t, fmt.Sprintf(`
C> type=CDS V= N= R=[] node=n1
C> type=RDS V= N= R=[r1]
S< type=RDS V=1 N=a res=[r1{%s,typo}]
C> type=RDS V=1 N=a R=[r1]
S< type=CDS V=1 N=b res=[%s]
C> type=CDS V=1 N=b R=[]
t=+16s -- tick
`, all, all), "reference-never-sent")
	if fmt.Sprint(f.Names) != "[typo]" {
		t.Errorf("%+v", f)
	}
}

// A client that reconnects for ever has one finding, which tells where.
func TestReferenceOverReconnects(t *testing.T) {
	var b strings.Builder
	for i := range 5 {
		version := ""
		if i > 0 {
			b.WriteString("-- server-end code=14\n")
			version = "1"
		}
		fmt.Fprintf(&b, "-- stream %d\nC> type=CDS V=%s N= R=[] node=n1\nS< type=CDS V=1 N=a res=[web]\nC> type=CDS V=1 N=a R=[]\n", i+1, version)
		fmt.Fprintf(&b, "C> type=RDS V=%s N= R=[r1]\nS< type=RDS V=1 N=b res=[r1{wbe}]\nC> type=RDS V=1 N=b R=[r1]\nt=+60s -- tick\n", version)
	}
	found := of(checked(t, check.Options{}, b.String()).Findings(), "reference-never-sent")
	if len(found) != 1 || found[0].Count != 5 || !strings.Contains(found[0].Message, "at virtual_hosts[0]") {
		t.Errorf("%d findings: %+v", len(found), found)
	}
}

// What is near for one client need not be so for another with as many clusters.
func TestNearestOfOtherClusters(t *testing.T) {
	var b strings.Builder
	for i, has := range []string{"other,more", "web,more", "other,wbe2"} {
		fmt.Fprintf(&b, "-- stream %d\nC> type=CDS V= N= R=[] node=n%d\nS< type=CDS V=1 N=a res=[%s]\nC> type=CDS V=1 N=a R=[]\n", i+1, i, has)
		b.WriteString("C> type=RDS V= N= R=[r1]\nS< type=RDS V=1 N=b res=[r1{wbe}]\nC> type=RDS V=1 N=b R=[r1]\n")
	}
	b.WriteString("t=+16s -- tick\n")
	found := of(checked(t, check.Options{}, b.String()).Findings(), "reference-never-sent")
	if len(found) != 3 {
		t.Fatal(words(found))
	}
	for i, want := range []string{"within 15s", `sent is "web"`, `sent is "wbe2"`} {
		if !strings.HasSuffix(found[i].Message, want) {
			t.Errorf("%s, want %s", found[i].Message, want)
		}
	}
}
