package pushes

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Responses belong together up to a time, and no longer.
func TestHowFarApartResponsesOfAPushAre(t *testing.T) {
	const (
		start = `C> type=CDS V= N= R=[] node=gw
S< type=CDS V=v-a N=c1 res=[web#1]
C> type=CDS V=v-a N=c1 R=[]
C> type=LDS V= N= R=[]
S< type=LDS V=w-a N=l1 res=[in#1]
C> type=LDS V=w-a N=l1 R=[]
t=+1m S< type=CDS V=v-b N=c2 res=[web#2]
C> type=CDS V=v-b N=c2 R=[]
`
		other = `-- stream 2
C> type=CDS V= N= R=[] node=other
S< type=CDS V=v-a N=c1 res=[web#1]
@2 C> type=CDS V=v-a N=c1 R=[]
`
		delta  = "D> type=EDS sub=[*] node=gw\nd< type=EDS N=1 res=[first@1]\nD> type=EDS N=1\n"
		shared = `C> type=CDS V= N= R=[] node=gw
S< type=CDS V=1 N=c1 res=[web#1]
C> type=CDS V=1 N=c1 R=[]
C> type=LDS V= N= R=[]
S< type=LDS V=1 N=l1 res=[in#1]
C> type=LDS V=1 N=l1 R=[]
t=+1m S< type=CDS V=2 N=c2 res=[web#2]
C> type=CDS V=2 N=c2 R=[]
t=+2s S< type=LDS V=2 N=l2 res=[in#2]
C> type=LDS V=2 N=l2 R=[]
t=+1m S< type=CDS V=3 N=c3 res=[web#3]
C> type=CDS V=3 N=c3 R=[]
`
		apart = `C> type=CDS V= N= R=[] node=gw
S< type=CDS V=1 N=c1 res=[web#1]
C> type=CDS V=1 N=c1 R=[]
t=+1m C> type=LDS V= N= R=[]
S< type=LDS V=5 N=l1 res=[in#1]
C> type=LDS V=5 N=l1 R=[]
t=+1m S< type=CDS V=6 N=c2 res=[web#2]
C> type=CDS V=6 N=c2 R=[]
`
	)
	burst := func(steps int, each time.Duration) string {
		var b strings.Builder
		b.WriteString(delta + "t=+1m d< type=EDS N=2 res=[e@1]\n")
		for i := range steps {
			fmt.Fprintf(&b, "t=+%v d< type=EDS N=b%d res=[e%d@1]\n", each, i, i)
		}
		return b.String()
	}
	const within, all = DefaultWithin, chain * DefaultWithin
	for _, v := range []struct {
		of      string
		longest time.Duration
		text    func(d time.Duration) string
		pushes  int // within the time; there is one more after it
	}{
		{"one burst", within, func(d time.Duration) string {
			return start + fmt.Sprintf("t=+%v S< type=LDS V=w-b N=l2 res=[in#2]\n", d)
		}, 2},
		{"a long burst", all, func(d time.Duration) string {
			const steps = 4 * chain
			return burst(steps-1, all/steps) + fmt.Sprintf("t=+%v d< type=EDS N=3 res=[last@1]\n", d-all*(steps-1)/steps)
		}, 2},
		{"those who ask at once", within, func(d time.Duration) string {
			return strings.Join(strings.SplitAfter(start, "\n")[:3], "") + "t=+" + d.String() + " -- tick\n" + strings.Replace(other, "\nS<", "\n@2 S<", 1) + "@2 S< type=CDS V=v-a N=c1 res=[web#1]\n"
		}, 1},
		{"more for one who just came", within, func(d time.Duration) string {
			return delta + fmt.Sprintf("t=+%v d< type=EDS N=2 res=[second@1]\n", d)
		}, 1},
		{"what it makes a client ask for", within, func(d time.Duration) string {
			return start + fmt.Sprintf("t=+%v C> type=EDS V= N= R=[web]\nS< type=EDS V=e-a N=e1 res=[web]\n", d)
		}, 2},
		{"one version", late, func(d time.Duration) string {
			return start + strings.Replace(other, "\nS<", "\n@2 S<", 1) + fmt.Sprintf("t=+%v @2 S< type=CDS V=v-b N=c2 res=[web#2]\n", d)
		}, 3},
		{"a number of all types", all, func(d time.Duration) string {
			return shared + fmt.Sprintf("t=+%v S< type=LDS V=3 N=l3 res=[in#3]\n", d)
		}, 3},
		{"a number that shows that it is of all", all, func(d time.Duration) string {
			return apart + fmt.Sprintf(`t=+%v S< type=LDS V=6 N=l2 res=[in#2]
C> type=LDS V=6 N=l2 R=[]
t=+1m S< type=CDS V=7 N=c3 res=[web#3]
C> type=CDS V=7 N=c3 R=[]
t=+1s S< type=LDS V=7 N=l3 res=[in#3]
`, d)
		}, 5},
	} {
		for more, d := range []time.Duration{v.longest, v.longest + time.Millisecond} {
			_, g, _ := played(t, v.text(d))
			is(t, fmt.Sprint(v.of, " after ", d), len(g.pushes), v.pushes+more)
		}
	}
}

// Versions that come together and differ are of one type each, whatever two types have in
// common later.
func TestVersionsOfOneTypeEach(t *testing.T) {
	both := func(cds, lds string, content, apart int) string {
		return fmt.Sprintf(`t=+1m S< type=CDS V=%[1]s N=c%[3]d res=[web#%[3]d]
C> type=CDS V=%[1]s N=c%[3]d R=[]
t=+%[4]dms S< type=LDS V=%[2]s N=l%[3]d res=[in#%[3]d]
C> type=LDS V=%[2]s N=l%[3]d R=[]
`, cds, lds, content, apart)
	}
	begin := `C> type=CDS V= N= R=[] node=gw
S< type=CDS V=1 N=c1 res=[web#1]
C> type=CDS V=1 N=c1 R=[]
t=+10ms C> type=LDS V= N= R=[]
S< type=LDS V=%s N=l1 res=[in#1]
C> type=LDS V=%s N=l1 R=[]
`
	for lds, pushes := range map[string]int{"1": 6, "x-1": 8} {
		text := fmt.Sprintf(begin, lds, lds) + both("2", "2", 2, 2000) + both("3", "3", 3, 2000) + both("4", "4", 4, 2000) + both("5", "y-5", 5, 100)
		_, g, _ := played(t, strings.TrimSuffix(text, "C> type=LDS V=y-5 N=l5 R=[]\n"))
		is(t, lds, len(g.pushes), pushes)
	}
}

// To who asked again a version brings what it likes; without a version what it was just
// sent does not change in one push.
func TestWhatIsSentToWhoAsksAgain(t *testing.T) {
	for text, want := range map[string]int{
		`C> type=EDS V= N= R=[a] node=gw
S< type=EDS V=1 N=1 res=[a#1]
C> type=EDS V=1 N=1 R=[a]
C> type=EDS V=1 N=1 R=[a,b]
S< type=EDS V=1 N=2 res=[a#2,b#1]
`: 1,
		`D> type=EDS sub=[a] node=gw
d< type=EDS N=1 res=[a@1#1]
D> type=EDS N=1
D> type=EDS sub=[b]
d< type=EDS N=2 res=[a@2#2,b@1#1]
`: 2,
		`D> type=EDS sub=[a] node=gw
d< type=EDS N=1 res=[a@1#1]
D> type=EDS N=1
D> type=EDS sub=[b]
d< type=EDS N=2 res=[b@1#1]
`: 1,
	} {
		_, g, _ := played(t, text)
		is(t, text, len(g.pushes), want)
	}
}

// What comes to a client that just asked for something, with the time that its answer had,
// is of one push with it.
func TestMoreOfTheTimeOfAnAnswer(t *testing.T) {
	for n, want := range map[int]int{2: 2, 3: 3} {
		_, g, _ := played(t, fmt.Sprintf(`C> type=CDS V= N= R=[] node=gw
S< type=CDS V=2026-08-27T10:00:00Z/1 N=c1 res=[web#1]
C> type=CDS V=2026-08-27T10:00:00Z/1 N=c1 R=[]
C> type=LDS V= N= R=[]
S< type=LDS V=2026-08-27T10:00:00Z/1 N=l1 res=[in#1]
C> type=LDS V=2026-08-27T10:00:00Z/1 N=l1 R=[]
t=+1m C> type=EDS V= N= R=[web]
S< type=EDS V=2026-08-27T10:01:00Z/2 N=e1 res=[web#1]
t=+100ms S< type=LDS V=2026-08-27T10:01:00Z/%d N=l2 res=[in#2]
`, n))
		is(t, fmt.Sprint("version ", n), len(g.pushes), want)
	}
}

// So many pushes are looked at for the one to which a response belongs.
func TestLooksBackSoFar(t *testing.T) {
	_, g, in, p := one(t)
	in.mark, g.now = "x", p.head.Sent
	other := &push{server: &server{}}
	for n := range lookBack + 1 {
		is(t, fmt.Sprint("behind ", n), g.find(in) == p, n < lookBack)
		g.pushes = append(g.pushes, other)
	}
}

// What referred to a resource that was removed is told by its name, whichever stream it
// came on.
func TestFirstOfThoseThatRefer(t *testing.T) {
	for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
		k, g, _ := played(t, fmt.Sprintf(`C> type=CDS V= N= R=[] node=gw
S< type=CDS V=1 N=c1 res=[web,old]
C> type=CDS V=1 N=c1 R=[]
C> type=RDS V= N= R=[%[1]s]
S< type=RDS V=1 N=r1 res=[%[1]s{old}]
C> type=RDS V=1 N=r1 R=[%[1]s]
-- stream 2
@2 C> type=RDS V= N= R=[%[2]s] node=gw
@2 S< type=RDS V=1 N=r1 res=[%[2]s{old}]
@2 C> type=RDS V=1 N=r1 R=[%[2]s]
t=+1m @1 S< type=CDS V=2 N=c2 res=[web]
`, names[0], names[1]))
		p, _ := g.Push(k, len(g.pushes))
		if len(p.Missing) != 1 || p.Missing[0].By != "a" || p.Missing[0].ByType != "RDS" {
			t.Errorf("%s: %+v", names, p.Missing)
		}
	}
}
