package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/decode/mask/secrets"
	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
)

// The kinds of values that settings have. Each reads the same text from a
// flag, an environment variable and the configuration file.

// List is a value that may be given several times.
type List interface {
	pflag.Value
	list() []string
	replace(texts []string) error
}

// Bool is a switch, by the words that people use for it.
type Bool bool

func (v *Bool) String() string { return strconv.FormatBool(bool(*v)) }
func (v *Bool) Type() string   { return "bool" }

// IsBoolFlag lets the flag stand alone.
func (v *Bool) IsBoolFlag() bool { return true }

func (v *Bool) Set(s string) error {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		*v = true
	case "false", "no", "off", "0":
		*v = false
	default:
		return errors.New("neither true nor false")
	}
	return nil
}

// Duration is a length of time, written without what is zero in it.
type Duration time.Duration

func (v *Duration) Type() string { return "DURATION" }
func (v *Duration) String() string {
	s := time.Duration(*v).String()
	if short, ok := strings.CutSuffix(s, "m0s"); ok {
		s = short + "m"
	}
	if short, ok := strings.CutSuffix(s, "h0m"); ok {
		s = short + "h"
	}
	return s
}

func (v *Duration) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		return errors.New("not a duration such as 500ms, 5s or 2m")
	}
	if d < 0 {
		return errors.New("less than zero")
	}
	*v = Duration(d)
	return nil
}

// OrOff is a duration that can be switched off; it is negative then.
type OrOff time.Duration

func (v *OrOff) Type() string { return "DURATION|off" }
func (v *OrOff) String() string {
	if *v < 0 {
		return "off"
	}
	return (*Duration)(v).String()
}

func (v *OrOff) Set(s string) error {
	switch d := Duration(0); {
	case strings.EqualFold(s, "off") || strings.EqualFold(s, "no") || strings.EqualFold(s, "false"):
		*v = -1
	case d.Set(s) != nil || d == 0:
		return errors.New("neither a duration such as 200ms nor off")
	default:
		*v = OrOff(d)
	}
	return nil
}

// Size is a number of bytes.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"G", 1e9},
	{"M", 1e6},
	{"k", 1e3},
	{"B", 1},
}

func (v *Size) Type() string { return "SIZE" }
func (v *Size) String() string {
	for _, u := range sizeUnits[:3] {
		if *v > 0 && int64(*v)%u.bytes == 0 {
			return strconv.FormatInt(int64(*v)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*v), 10) + "B"
}

func (v *Size) Set(s string) error {
	number, unit := s, int64(1)
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return errors.New("not a size such as 64MiB or 500kB")
	}
	if n < 0 || n > (1<<62)/unit {
		return errors.New("out of range")
	}
	*v = Size(n * unit)
	return nil
}

// Count is how many of something.
type Count int

func (v *Count) Type() string   { return "N" }
func (v *Count) String() string { return strconv.Itoa(int(*v)) }
func (v *Count) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return errors.New("not a number")
	}
	*v = Count(n)
	return nil
}

// limit is a value of which zero stands for a word, such as none.
type limit struct {
	pflag.Value
	zero, word string
}

func (v limit) String() string {
	if s := v.Value.String(); s != v.zero {
		return s
	}
	return v.word
}

func (v limit) Set(s string) error {
	if strings.EqualFold(s, v.word) {
		s = v.zero
	}
	return v.Value.Set(s)
}

// segmentSize is a size that a segment can have. Whoever types 3 does not mean bytes.
type segmentSize struct{ *Size }

const leastSegment Size = 1 << 10

func (v segmentSize) Set(s string) error {
	var given Size
	if err := given.Set(s); err != nil {
		return err
	}
	if 0 < given && given < leastSegment {
		return errors.New("less than 1KiB: a size has a unit, such as 64MiB")
	}
	*v.Size = given
	return nil
}

// Text is any text; kind names it in the help.
type Text struct {
	p    *string
	Kind string
}

func (v Text) String() string     { return *v.p }
func (v Text) Type() string       { return v.Kind }
func (v Text) Set(s string) error { *v.p = s; return nil }

// NewText is the value that p points to.
func NewText(p *string, kind string) Text { return Text{p, kind} }

// Choice is one of a few words.
type Choice struct {
	p  *string
	Of []string
}

func (v Choice) String() string { return *v.p }
func (v Choice) Type() string   { return strings.Join(v.Of, "|") }
func (v Choice) Set(s string) error {
	for _, w := range v.Of {
		if s == w {
			*v.p = s
			return nil
		}
	}
	last := len(v.Of) - 1
	return fmt.Errorf("not one of %s and %s", strings.Join(v.Of[:last], ", "), v.Of[last])
}

// NewChoice is one of some words, in what p points to.
func NewChoice(p *string, of ...string) Choice { return Choice{p, of} }

// many is a list. The first one given replaces the default; those after it
// are added.
type many struct {
	p     *[]string
	kind  string // as the help has it
	check func(string) error
	given *bool
}

func newMany(p *[]string, kind string, check func(string) error) many {
	return many{p: p, kind: kind, check: check, given: new(bool)}
}

func (v many) list() []string { return *v.p }
func (v many) Type() string   { return v.kind }
func (v many) String() string { return strings.Join(*v.p, ",") }
func (v many) Set(s string) error {
	if err := v.check(s); err != nil {
		return err
	}
	if !*v.given {
		*v.p, *v.given = nil, true
	}
	*v.p = append(*v.p, s)
	return nil
}

func (v many) replace(texts []string) error {
	*v.p, *v.given = nil, true
	for _, s := range texts {
		if err := v.Set(strings.TrimSpace(s)); err != nil {
			return Naming(s, err)
		}
	}
	return nil
}

// headers is a list of header fields, of which some are credentials.
type headers struct{ many }

// shown is the list as others may see it.
func (v headers) shown() []string {
	out := slices.Clone(*v.p)
	for i, s := range out {
		if name, _, _ := strings.Cut(s, "="); secrets.IsCredential(strings.TrimSpace(name)) {
			out[i] = name + "=(not shown)"
		}
	}
	return out
}

// address is one address.
type address struct {
	p     *string
	check func(string) error
}

func (v address) String() string { return *v.p }
func (v address) Type() string   { return "ADDR" }
func (v address) Set(s string) error {
	if err := v.check(s); err != nil {
		return err
	}
	*v.p = s
	return nil
}

// Naming puts the value in front of an error that does not say it itself. What
// is to be in a header may be a secret, and is in no error.
func Naming(value string, err error) error {
	if _, is := errors.AsType[*rewrite.Error](err); is {
		return err
	}
	quoted := strconv.Quote(value)
	if strings.Contains(err.Error(), quoted) {
		return err
	}
	return fmt.Errorf("%s: %w", quoted, err)
}
