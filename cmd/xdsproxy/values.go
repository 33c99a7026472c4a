package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
)

// The kinds of values that settings have. Each reads the same text from a
// flag, an environment variable and the configuration file.

// listValue is a value that may be given several times.
type listValue interface {
	pflag.Value
	list() []string
	replace(texts []string) error
}

type boolValue bool

func (v *boolValue) String() string   { return strconv.FormatBool(bool(*v)) }
func (v *boolValue) Type() string     { return "bool" }
func (v *boolValue) IsBoolFlag() bool { return true }
func (v *boolValue) Set(s string) error {
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

type durationValue time.Duration

func (v *durationValue) Type() string { return "DURATION" }
func (v *durationValue) String() string {
	s := time.Duration(*v).String()
	if short, ok := strings.CutSuffix(s, "m0s"); ok {
		s = short + "m"
	}
	if short, ok := strings.CutSuffix(s, "h0m"); ok {
		s = short + "h"
	}
	return s
}

func (v *durationValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		return errors.New("not a duration such as 500ms, 5s or 2m")
	}
	if d < 0 {
		return errors.New("less than nothing")
	}
	*v = durationValue(d)
	return nil
}

// orOff is a duration that can be switched off; it is negative then.
type orOff time.Duration

func (v *orOff) Type() string { return "DURATION|off" }
func (v *orOff) String() string {
	if *v < 0 {
		return "off"
	}
	return (*durationValue)(v).String()
}

func (v *orOff) Set(s string) error {
	switch d := durationValue(0); {
	case strings.EqualFold(s, "off") || strings.EqualFold(s, "no") || strings.EqualFold(s, "false"):
		*v = -1
	case d.Set(s) != nil || d == 0:
		return errors.New("neither a duration such as 200ms nor off")
	default:
		*v = orOff(d)
	}
	return nil
}

// sizeValue is a number of bytes.
type sizeValue int64

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

func (v *sizeValue) Type() string { return "SIZE" }
func (v *sizeValue) String() string {
	for _, u := range sizeUnits[:3] {
		if *v > 0 && int64(*v)%u.bytes == 0 {
			return strconv.FormatInt(int64(*v)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*v), 10) + "B"
}

func (v *sizeValue) Set(s string) error {
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
	*v = sizeValue(n * unit)
	return nil
}

// countValue is how many of something.
type countValue int

func (v *countValue) Type() string   { return "N" }
func (v *countValue) String() string { return strconv.Itoa(int(*v)) }
func (v *countValue) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return errors.New("not a number")
	}
	*v = countValue(n)
	return nil
}

// limitValue is a value of which zero stands for a word, such as none.
type limitValue struct {
	pflag.Value
	zero, word string
}

func (v limitValue) String() string {
	if s := v.Value.String(); s != v.zero {
		return s
	}
	return v.word
}

func (v limitValue) Set(s string) error {
	if strings.EqualFold(s, v.word) {
		s = v.zero
	}
	return v.Value.Set(s)
}

// textValue is any text; kind names it in the help.
type textValue struct {
	p    *string
	kind string
}

func (v textValue) String() string     { return *v.p }
func (v textValue) Type() string       { return v.kind }
func (v textValue) Set(s string) error { *v.p = s; return nil }

func newText(p *string, kind string) textValue { return textValue{p, kind} }

// choiceValue is one of a few words.
type choiceValue struct {
	p  *string
	of []string
}

func (v choiceValue) String() string { return *v.p }
func (v choiceValue) Type() string   { return strings.Join(v.of, "|") }
func (v choiceValue) Set(s string) error {
	for _, w := range v.of {
		if s == w {
			*v.p = s
			return nil
		}
	}
	last := len(v.of) - 1
	return fmt.Errorf("not one of %s and %s", strings.Join(v.of[:last], ", "), v.of[last])
}

func newChoice(p *string, of ...string) choiceValue { return choiceValue{p, of} }

// manyValue is a list. The first one given replaces the default; those after it
// are added.
type manyValue struct {
	p     *[]string
	kind  string // as the help has it
	check func(string) error
	given *bool
}

func newMany(p *[]string, kind string, check func(string) error) manyValue {
	return manyValue{p: p, kind: kind, check: check, given: new(bool)}
}

func (v manyValue) list() []string { return *v.p }
func (v manyValue) Type() string   { return v.kind }
func (v manyValue) String() string { return strings.Join(*v.p, ",") }
func (v manyValue) Set(s string) error {
	if err := v.check(s); err != nil {
		return err
	}
	if !*v.given {
		*v.p, *v.given = nil, true
	}
	*v.p = append(*v.p, s)
	return nil
}

func (v manyValue) replace(texts []string) error {
	*v.p, *v.given = nil, true
	for _, s := range texts {
		if err := v.Set(strings.TrimSpace(s)); err != nil {
			return naming(s, err)
		}
	}
	return nil
}

// headersValue is a list of header fields, of which some are credentials.
type headersValue struct{ manyValue }

// shown is the list as others may see it.
func (v headersValue) shown() []string {
	out := slices.Clone(*v.p)
	for i, s := range out {
		if name, _, _ := strings.Cut(s, "="); decode.IsCredential(strings.TrimSpace(name)) {
			out[i] = name + "=(not shown)"
		}
	}
	return out
}

// addressValue is one address.
type addressValue struct {
	p     *string
	check func(string) error
}

func (v addressValue) String() string { return *v.p }
func (v addressValue) Type() string   { return "ADDR" }
func (v addressValue) Set(s string) error {
	if err := v.check(s); err != nil {
		return err
	}
	*v.p = s
	return nil
}

// naming puts the value in front of an error that does not say it itself. What
// is to be in a header may be a secret, and is in no error.
func naming(value string, err error) error {
	if _, is := errors.AsType[*rewrite.Error](err); is {
		return err
	}
	quoted := strconv.Quote(value)
	if strings.Contains(err.Error(), quoted) {
		return err
	}
	return fmt.Errorf("%s: %w", quoted, err)
}
