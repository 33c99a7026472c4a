package script

import (
	"fmt"

	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/session"
)

// The words of the language, each in one place: who reads them and who writes
// them look here.

// lineKind is what a line begins with.
type lineKind struct {
	word  string
	shape shape // of the stream that it belongs to
	read  func(*player, *line) (action, int64, error)
}

func (k lineKind) String() string { return k.word }

var lineKinds = []lineKind{
	{"C>", sotw, (*player).sotwRequest},
	{"S<", sotw, (*player).sotwResponse},
	{"D>", delta, (*player).deltaRequest},
	{"d<", delta, (*player).deltaResponse},
	{"P>", rest, (*player).pollLine},
	{"p<", rest, (*player).answerLine},
	{"L>", load, (*player).loadRequest},
	{"l<", load, (*player).loadResponse},
	{"F:", file, (*player).fileLine},
	{"--", unknown, (*player).eventLine},
}

// eventKind is what can stand behind "--".
type eventKind struct {
	word     string
	ofStream bool // it is about a stream that there is
	repeats  bool // it may happen several times
	read     func(*player, *line) (action, error)
}

func (k eventKind) String() string { return k.word }

var eventKinds = []eventKind{
	{"stream", false, false, func(p *player, l *line) (action, error) { return func() error { return p.open(l.stream) }, nil }},
	{"stream-open", false, true, (*player).openMany},
	{"server-headers", true, false, (*player).serverHeaders},
	{"server-end", true, false, (*player).serverEnd},
	{"client-end", true, false, (*player).clientEnd},
	{"client-half-close", true, false, (*player).halfClose},
	{"cut", true, false, (*player).cut},
	{"goaway", true, false, (*player).goAway},
	{"disconnect", true, false, (*player).disconnect},
	{"tick", false, true, (*player).tick},
	{"csds", false, true, (*player).status},
	{"held", false, true, (*player).held},
}

// reference is a word in curly brackets. One without names and flag is no
// reference, but says something of all.
type reference struct {
	word, typ string // typ is the short type of what it leads to
	flag      func(*synth.Refs) *bool
	names     func(*synth.Refs) *[]string
}

func (r reference) String() string { return r.word }

// references are in the order in which they are written.
var references = []reference{
	{"eds", "EDS", func(r *synth.Refs) *bool { return &r.EDS }, nil},
	{"rds", "RDS", nil, func(r *synth.Refs) *[]string { return &r.Routes }},
	{"sds", "SDS", nil, func(r *synth.Refs) *[]string { return &r.Secrets }},
	{"ecds", "ECDS", nil, func(r *synth.Refs) *[]string { return &r.Filters }},
	{"default", "", func(r *synth.Refs) *bool { return &r.Default }, nil},
	{"vhds", "VHDS", func(r *synth.Refs) *bool { return &r.VHDS }, nil},
	{"srds", "SRDS", func(r *synth.Refs) *bool { return &r.SRDS }, nil},
	{"leds", "LEDS", nil, func(r *synth.Refs) *[]string { return &r.Groups }},
	{"src", "", nil, nil},
}

// marker is a hash with a meaning.
type marker struct {
	word string
	of   func(*synth.Resource) *bool
}

func (m marker) String() string { return m.word }

var markers = []marker{
	{"corrupt", func(r *synth.Resource) *bool { return &r.Corrupt }},
	{"unknown-field", func(r *synth.Resource) *bool { return &r.Unknown }},
	{"deprecated", func(r *synth.Resource) *bool { return &r.Dated }},
	{"pgv-bad", func(r *synth.Resource) *bool { return &r.Invalid }},
	{"grpc-bad", func(r *synth.Resource) *bool { return &r.NotGRPC }},
}

// wordOf is the row of a table that a word stands in, or nil.
func wordOf[T fmt.Stringer](table []T, word string) *T {
	for i := range table {
		if table[i].String() == word {
			return &table[i]
		}
	}
	return nil
}

// wordsOf are the words of a table, for hints.
func wordsOf[T fmt.Stringer](table []T) (out []string) {
	for _, row := range table {
		out = append(out, row.String())
	}
	return out
}

// codes are the names of gRPC status codes, by number.
var codes = session.GRPCCodes()
