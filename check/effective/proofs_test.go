package effective_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/session"
)

// proofs are what is to be found in a conversation.
type proofs struct {
	text string
	want []string
}

// finds wants a rule to say of each conversation what it is to, and no more.
func finds(t *testing.T, rule string, cases map[string]proofs) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := said(t, rule, c.text); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// said is all that one rule says of a conversation. A tick stands for something that was
// not seen of stream 1.
func said(t *testing.T, rule, text string) (all []string) {
	t.Helper()
	s, err := script.Parse("test", []byte(strings.TrimSpace(text)+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	k := check.NewChecker(check.Options{})
	for e := range s.Entries() {
		if e.Kind == session.KindTime {
			e = session.Entry{Seq: e.Seq, Time: e.Time, Kind: session.KindGap, Gap: &session.Gap{Streams: []session.StreamID{1}}}
		}
		k.Step(&e)
	}
	for _, f := range k.Findings() {
		if f.Rule.ID == rule {
			all = append(all, fmt.Sprintf("%d %v %v %s", f.Count, f.Seqs, f.Names, f.Message))
		}
	}
	return all
}

// A client that says of itself what its streams exclude contradicts them, if it had ten
// seconds since the newest response and since its own last word.
func TestContradicts(t *testing.T) {
	const one = `
C> type=CDS V= N= R=[c1] node=n1
S< type=CDS V=1 N=a res=[c1#1]
C> type=CDS V=1 N=a R=[c1]
`
	const two = one + "S< type=CDS V=2 N=b res=[c1#2]\nC> type=CDS V=2 N=b R=[c1]\n"
	const delta = `
D> type=CDS N= sub=[] node=n1
d< type=CDS N=a res=[c1@1#1]
D> type=CDS N=a sub=[]
d< type=CDS N=b res=[c2@5#1]
D> type=CDS N=b sub=[]
`
	const again = one + `
-- server-end code=14
t=+1s -- stream 2
C> type=CDS V=1 N= R=[c1] node=n1
`
	const gone = `1 [5 11] [c1] the client says DOES_NOT_EXIST of "c1", but it was sent, and not removed, by entry 5`
	finds(t, "csds-divergence", map[string]proofs{
		"at the end of its time": {one + "t=+10s -- csds node=n1 CDS/c1=DOES_NOT_EXIST", nil},
		"after it":               {one + "t=+10.000001s -- csds node=n1 CDS/c1=DOES_NOT_EXIST", []string{gone}},
		"not answered, in time": {`
C> type=CDS V= N= R=[c1] node=n1
t=+1s S< type=CDS V=1 N=a res=[c1#1]
t=+10s -- csds node=n1 CDS/c1=DOES_NOT_EXIST`, nil},
		"not answered": {`
C> type=CDS V= N= R=[c1] node=n1
t=+1s S< type=CDS V=1 N=a res=[c1#1]
t=+10.000001s -- csds node=n1 CDS/c1=DOES_NOT_EXIST`, []string{strings.Replace(gone, "11", "10", 1)}},
		"it waits no longer":                {one + "t=+11s -- csds node=n1 CDS/c1=TIMEOUT", []string{strings.Replace(gone, "DOES_NOT_EXIST", "TIMEOUT", 1)}},
		"it has said something":             {one + "t=+6s C> type=CDS V=1 N=a R=[c1,c2]\nt=+10s -- csds node=n1 CDS/c1=DOES_NOT_EXIST", nil},
		"it said it long ago":               {one + "t=+6s C> type=CDS V=1 N=a R=[c1,c2]\nt=+10.000001s -- csds node=n1 CDS/c1=DOES_NOT_EXIST", []string{strings.Replace(gone, "11", "12", 1)}},
		"it rejects what it took":           {one + "t=+11s -- csds node=n1 CDS/c1=NACKED@1", []string{`1 [5 11] [c1] the client says NACKED of "c1", but entry 6 accepted it`}},
		"it rejects what it did":            {"C> type=CDS V= N= R=[c1] node=n1\nS< type=CDS V=1 N=a res=[c1#1]\nC> type=CDS V= N=a R=[c1] err=no\nt=+11s -- csds node=n1 CDS/c1=NACKED@1", nil},
		"the same version":                  {one + "t=+11s -- csds node=n1 CDS/c1=ACKED@1", nil},
		"no version":                        {one + "t=+11s -- csds node=n1 CDS/c1=ACKED", nil},
		"another version":                   {one + "t=+11s -- csds node=n1 CDS/c1=ACKED@9", []string{`1 [5 11] [c1] the client says ACKED of "c1", but its version is "9" there and "1" here`}},
		"an older version":                  {two + "t=+11s -- csds node=n1 CDS/c1=ACKED@1", []string{`1 [7 13] [c1] the client says ACKED of "c1", but its version is "1" there and "2" here`}},
		"an older one, unchanged":           {strings.Replace(two, "#2", "#1", 1) + "t=+11s -- csds node=n1 CDS/c1=ACKED@1", nil},
		"another, of what was not accepted": {"C> type=CDS V= N= R=[c1] node=n1\nS< type=CDS V=1 N=a res=[c1#1]\nt=+11s -- csds node=n1 CDS/c1=ACKED@9", nil},
		"a version of its own":              {delta + "t=+11s -- csds node=n1 CDS/c1=ACKED@1 CDS/c2=ACKED@5", nil},
		"another of its own":                {delta + "t=+11s -- csds node=n1 CDS/c1=ACKED@5 CDS/c2=ACKED@5", []string{`1 [7 13] [c1] the client says ACKED of "c1", but its version is "5" there and "1" here`}},
		"of a type sent in parts":           {strings.ReplaceAll(one, "CDS", "EDS") + "S< type=EDS V=2 N=b res=[c2]\nC> type=EDS V=2 N=b R=[c1]\nt=+11s -- csds node=n1 EDS/c1=ACKED@7", []string{`1 [7 13] [c1] the client says ACKED of "c1", but its version is "7" there and "1" here`}},
		"not sent":                          {strings.ReplaceAll(one, "R=[c1]", "R=[c1,c2]") + "t=+11s -- csds node=n1 CDS/c2=DOES_NOT_EXIST", nil},
		"nothing sent":                      {"C> type=CDS V= N= R=[c1] node=n1\nt=+11s -- csds node=n1 CDS/c1=DOES_NOT_EXIST", nil},
		"not all seen":                      {one + "-- tick\nt=+11s -- csds node=n1 CDS/c1=DOES_NOT_EXIST", nil},
		"not sent since a reconnect":        {again + "S< type=CDS V=2 N=a res=[c1#1]\nC> type=CDS V=2 N=a R=[c1]\nt=+11s -- csds node=n1 CDS/c1=DOES_NOT_EXIST", nil},
		"sent since a reconnect":            {again + "S< type=CDS V=2 N=a res=[c1#2]\nC> type=CDS V=2 N=a R=[c1]\nt=+11s -- csds node=n1 CDS/c1=DOES_NOT_EXIST", []string{strings.NewReplacer("[5 11]", "[12 18]", "entry 5", "entry 12").Replace(gone)}},
	})
}

// What a client uses, asks for and was not sent is told of where it had half a minute
// since it accepted last, and never where it may have it from somewhere else.
func TestForeign(t *testing.T) {
	const one = `
-- held node=n1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1]
C> type=CDS V=1 N=a R=[]
`
	const delta = `
-- held node=n1
D> type=CDS sub=[*] INIT node=n1
d< type=CDS N=a res=[c1@1]
D> type=CDS N=a
t=+31s -- held node=n1 CDS/active=[c1@1,c2@1]
`
	found := func(seqs, names string) []string {
		return []string{fmt.Sprintf("1 [%s] [%s] the client uses %s, which this server never sent, though it is asked for",
			seqs, names, `"`+strings.ReplaceAll(names, " ", `", "`)+`"`)}
	}
	finds(t, "effective-not-sent", map[string]proofs{
		"at the end of its time": {one + "t=+30s -- held node=n1 CDS/active=[c1,c2@1]", nil},
		"after it":               {one + "t=+30.000001s -- held node=n1 CDS/active=[c1,c2@1]", found("6 8", "c2")},
		"several, and once":      {one + "t=+31s -- held node=n1 CDS/active=[c1,c2@1,c3@1]\nt=+31s -- held node=n1 CDS/active=[c1,c2@1,c3@1]", found("6 8", "c2 c3")},
		"nothing accepted":       {"-- held node=n1\nC> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1]\nt=+31s -- held node=n1 CDS/active=[c2@1]", nil},
		"not all seen":           {one + "-- tick\nt=+31s -- held node=n1 CDS/active=[c1,c2@1]", nil},
		"declared":               {strings.Replace(delta, "INIT", "init={c2:1}", 1), nil},
		"not declared":           {strings.Replace(delta, "INIT", "init={c3:1}", 1), found("6 8", "c2")},
	})
}

// What was accepted and is not in use is told of after half a minute, together where it
// is the same of several.
func TestUnused(t *testing.T) {
	const one = `
-- held node=n1
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1{eds},c2#1{eds}]
C> type=CDS V=1 N=a R=[]
`
	const late = "accepted longer than 30s ago, and the client says that"
	finds(t, "accepted-not-effective", map[string]proofs{
		"at the end of its time": {one + "t=+30s -- held node=n1 CDS/active=[c2#1{eds}]", nil},
		"after it":               {one + "t=+30.000001s -- held node=n1 CDS/active=[c2#1{eds}]", []string{`1 [7 8] [c1] "c1" was ` + late + ` it is: not in use`}},
		"both":                   {one + "t=+31s -- held node=n1", []string{`1 [7 8] [c1 c2] "c1", "c2" were ` + late + ` they are: not in use`}},
		"each for itself": {one + "t=+31s -- held node=n1 CDS/active=[c1#9{eds}]", []string{
			`1 [7 8] [c1] "c1" was ` + late + ` it is: in use in another content`,
			`1 [7 8] [c2] "c2" was ` + late + ` it is: not in use`,
		}},
		"it waits": {one + "C> type=EDS V= N= R=[c1,c2]\nt=+31s -- held node=n1 CDS/active=[c2#1{eds}] CDS/warming=[c1#1{eds}]", []string{
			`1 [7 9] [c1] "c1" was ` + late + ` it is: warming, and waits for EDS c1`,
		}},
		"it waits for nothing": {one + "C> type=EDS V= N= R=[c1,c2]\nS< type=EDS V=1 N=b res=[c1,c2]\nC> type=EDS V=1 N=b R=[c1,c2]\nt=+31s -- held node=n1 CDS/active=[c2#1{eds}] EDS/active=[c1,c2] CDS/warming=[c1#1{eds}]", []string{
			`1 [7 11] [c1] "c1" was ` + late + ` it is: warming`,
		}},
		"it waits for much": {`
-- held node=n1
C> type=LDS V= N= R=[] node=n1
S< type=LDS V=1 N=a res=[l1{rds=r1,rds=r2,rds=r3,rds=r4,rds=r5}]
C> type=LDS V=1 N=a R=[]
C> type=RDS V= N= R=[r1,r2,r3,r4,r5]
t=+31s -- held node=n1 LDS/warming=[l1{rds=r1,rds=r2,rds=r3,rds=r4,rds=r5}]`, []string{
			`1 [7 9] [l1] "l1" was ` + late + ` it is: warming, and waits for RDS r1, RDS r2, RDS r3, RDS r4`,
		}},
		"it failed":    {one + `t=+31s -- held node=n1 CDS/active=[c2#1{eds}] CDS/error=[c1#"no room"]`, []string{`1 [7 8] [c1] "c1" was ` + late + ` it is: not in use: no room`}},
		"it drains":    {one + "t=+31s -- held node=n1 CDS/active=[c2#1{eds}] CDS/draining=[c1#1{eds}]", nil},
		"not all seen": {one + "-- tick\nt=+31s -- held node=n1 CDS/active=[c2#1{eds}]", nil},
	})
}

// A client that is asked for the first time when it has long accepted something has half
// a minute from then, if that is remembered; else from its last word on the type before.
func TestUnusedAskedLate(t *testing.T) {
	const one = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1#1,c2#1]
C> type=CDS V=1 N=a R=[]
`
	const more = one + `
t=+20s S< type=CDS V=2 N=b res=[c1#2,c2#1]
C> type=CDS V=2 N=b R=[]
`
	const torn = one + `
-- tick
t=+40s S< type=CDS V=1 N=b res=[c1#1,c2#1]
C> type=CDS V=1 N=b R=[]
`
	const again = one + `
t=+40s -- client-end code=CANCELLED
-- stream 2
C> type=CDS V=1 N= R=[] node=n1
`
	const asked = "-- held node=n1 CDS/active=[c1#1]\n"
	found := func(seqs string) []string {
		return []string{"1 [" + seqs + `] [c2] "c2" was accepted longer than 30s ago, and the client says that it is: not in use`}
	}
	finds(t, "accepted-not-effective", map[string]proofs{
		"at the end of its time":       {one + "t=+30s " + asked, nil},
		"after it":                     {one + "t=+31s " + asked, found("6 7")},
		"asked twice":                  {one + "t=+1s " + asked + "t=+30s " + asked, found("6 8")},
		"sent again, in time":          {more + "t=+30s " + asked, nil},
		"sent again":                   {more + "t=+31s " + asked, found("7 9")},
		"after a gap, in time":         {torn + "t=+30s " + asked, nil},
		"after a gap":                  {torn + "t=+31s " + asked, found("8 10")},
		"connected again, in time":     {again + "t=+30s " + asked, nil},
		"connected again":              {again + "t=+31s " + asked, found("5 11")},
		"sent it again since, in time": {one + "t=+1s " + asked + "t=+28s S< type=CDS V=2 N=b res=[c1#1,c2#1]\nC> type=CDS V=2 N=b R=[]\nt=+1s " + asked, nil},
		"sent it again since":          {one + "t=+1s " + asked + "t=+28s S< type=CDS V=2 N=b res=[c1#1,c2#1]\nC> type=CDS V=2 N=b R=[]\nt=+2s " + asked, found("6 10")},
	})
}
