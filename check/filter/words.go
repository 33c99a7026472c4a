package filter

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/nearest"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// unknown says that a word is none of a key's.
func unknown(what, word string, all []string) *Error {
	err := wrong("unknown %s %q", what, word).nearest(nearest.Name(word, all))
	switch {
	case strings.Contains(word, "|"):
		return err.nearest("").hint("a comma is or: %s", strings.ReplaceAll(strings.Trim(word, "|"), "|", ","))
	case err.Nearest == "" && len(all) <= 16:
		err.hint("it can be %s", strings.Join(all, ", "))
	}
	return err
}

// kind is what a message does, or what other entries record.
type kind struct {
	word    string
	what    string      // of a message
	kinds   uint32      // bit set of entry kinds
	variant xds.Variant // of those; "" for any
}

func (v kind) takes(r *Row) bool {
	if v.what == "" {
		return v.kinds>>r.Entry.Kind&1 != 0 && (v.variant == "" || v.variant == r.Change.Variant)
	}
	return r.Change.What == v.what || slices.Contains(r.Change.Also, v.what)
}

// history says whether the word is told from earlier messages. A rejection and
// the messages of a server say themselves what they are.
func (v kind) history() bool {
	switch v.what {
	case engine.ACK, engine.SUB, engine.UNSUB, engine.REQ:
		return true
	}
	return false
}

// whats are the words for what a message does.
func whats() []string {
	return []string{"nack", "ack", "sub", "unsub", "req", "resp", "delta"}
}

// kinds are the words for other entries: those of the lines, and those of the
// machine-readable form.
func kinds() []kind {
	of := func(word string, kinds ...session.Kind) kind {
		k := kind{word: word}
		for _, v := range kinds {
			k.kinds |= 1 << v
		}
		return k
	}
	return []kind{
		of("open", session.KindOpen),
		of("close", session.KindTrailer, session.KindCancel),
		of("gap", session.KindGap),
		of("note", session.KindNote),
		of("conn", session.KindConnect),
		of("head", session.KindHeader),
		of("half", session.KindHalfClose),
		of("goaway", session.KindGoAway),
		of("gone", session.KindDisconnect),
		of("connect", session.KindConnect),
		of("header", session.KindHeader),
		of("message", session.KindMessage),
		of("half-close", session.KindHalfClose),
		of("trailer", session.KindTrailer),
		of("cancel", session.KindCancel),
		of("disconnect", session.KindDisconnect),
		of("time", session.KindTime),
		of("held", session.KindHeld),
		{word: "file", kinds: 1 << session.KindHeader, variant: xds.VariantFile},
	}
}

func kindWords() []string {
	words := whats()
	for _, k := range kinds() {
		words = append(words, k.word)
	}
	return words
}

func parseKind(text string) (value, *Error) {
	word := strings.ToLower(text)
	if slices.Contains(whats(), word) {
		return kind{what: strings.ToUpper(word)}, nil
	}
	for _, k := range kinds() {
		if k.word == word {
			return k, nil
		}
	}
	return nil, unknown("kind", text, kindWords())
}

func parseWhat(text string) (value, *Error) {
	if !slices.Contains(whats(), strings.ToLower(text)) {
		return nil, unknown("what", text, whats())
	}
	return parseKind(text)
}

// typ is the type of a resource: short is set if it was named so.
type typ struct {
	pattern
	short string
}

func (v *typ) takes(r *Row) bool {
	c := r.Change
	switch {
	case c.Type == v.short && v.short != "":
		return true
	case v.short != "":
		return false
	case c.Type != "" && v.is(c.Type):
		return true
	case c.Message == nil || c.Message.TypeURL == "":
		return false
	}
	return v.is(c.Message.TypeURL) || v.is(xds.TypeName(c.Message.TypeURL))
}

// mayBe cannot tell of a full name: labels are short.
func (v *typ) mayBe(label string) bool {
	return v.short == "" || label[min(len(label), len(TypeLabel)):] == v.short && strings.HasPrefix(label, TypeLabel)
}

func typeWords() []string { return lower(xds.ShortTypes()) }

// parseType takes short types, and whatever looks like a full name, a type URL
// or a part of one.
func parseType(text string) (value, *Error) {
	if slices.Contains(typeWords(), strings.ToLower(text)) {
		return &typ{short: strings.ToUpper(text)}, nil
	}
	if !strings.ContainsAny(text, "./*") {
		err := unknown("type", text, typeWords())
		if err.Nearest == "" && !strings.Contains(text, "|") {
			err.hint("it can be %s, or a full name or a part of one: type:*%s*", strings.Join(typeWords(), ", "), text)
		}
		return nil, err
	}
	p, err := parsePattern(text)
	return &typ{pattern: p}, err
}

func parseDirection(text string) (value, *Error) {
	switch strings.ToLower(text) {
	case "req":
		return direction(session.Client), nil
	case "resp":
		return direction(session.Server), nil
	}
	return nil, unknown("direction", text, directions())
}

func directions() []string { return []string{"req", "resp"} }

// severity is that of a finding.
type severity string

func (v severity) takes(r *Row) bool {
	for i := range r.Findings {
		if strings.EqualFold(r.Findings[i].Severity, string(v)) {
			return true
		}
	}
	return false
}

func severities() []string { return []string{"error", "warning", "info"} }

func parseSeverity(text string) (value, *Error) {
	if !slices.Contains(severities(), strings.ToLower(text)) {
		return nil, unknown("severity", text, severities())
	}
	return severity(strings.ToLower(text)), nil
}

// marked is whether a person marked the entry.
type marked bool

func (v marked) takes(r *Row) bool { return r.Marked == bool(v) }

func yesOrNo() []string { return []string{"yes", "no"} }

func parseMarked(text string) (value, *Error) {
	switch strings.ToLower(text) {
	case "yes":
		return marked(true), nil
	case "no":
		return marked(false), nil
	}
	return nil, unknown("answer", text, yesOrNo())
}

func ruleIDs() []string {
	var out []string
	for _, r := range check.Rules() {
		out = append(out, r.ID)
	}
	return out
}

// parseRule takes what fits a rule that there is.
func parseRule(text string) (value, *Error) {
	v, err := listOf(anyRule)(text)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(ruleIDs(), v.(*texts).is) {
		err := unknown("rule", text, ruleIDs())
		if err.Nearest == "" {
			err.hint("xdsproxy explain lists the rules")
		}
		return nil, err
	}
	return v, nil
}

func variants() []string {
	var out []string
	for _, v := range xds.Variants() {
		out = append(out, string(v))
	}
	return out
}

func variantOf(r *Row) string { return string(r.Change.Variant) }

func parseVariant(text string) (value, *Error) {
	v, err := fieldOf(variantOf)(text)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(variants(), v.(*texts).is) {
		return nil, unknown("variant", text, variants())
	}
	return v, nil
}
