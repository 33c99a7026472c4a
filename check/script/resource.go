package script

import (
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// resources is res= of a response of the given type, with what else says
// something about all of them.
func (f *fields) resources(typeURL string, delta bool) (out []synth.Resource) {
	w := f.get("res")
	aliases := f.names("alias")
	if w == nil {
		return nil
	}
	items, err := f.l.items(w.value, '[')
	f.fail(err)
	if len(items) > maxRes {
		f.fail(f.l.fail(w.off, "the response has more than %d resources", maxRes))
		return nil
	}
	for _, it := range items {
		r, err := f.l.resource(it, typeURL, delta)
		f.fail(err)
		if f.err != nil {
			return nil
		}
		if len(aliases) > 0 {
			r.Aliases, r.Wrapped = append(r.Aliases, aliases...), true
		}
		out = append(out, r)
	}
	return out
}

// resource is one element of res=.
func (l *line) resource(s span, typeURL string, delta bool) (r synth.Resource, err error) {
	p := resourceParser{l: l, rest: s, r: synth.Resource{TypeURL: typeURL, Wrapped: delta}}
	p.prefixes()
	if p.r.Name, p.rest, err = l.part(p.rest, "@#{~("); err != nil {
		return r, err
	}
	for p.rest.from < p.rest.to {
		if err := p.suffix(); err != nil {
			return r, err
		}
	}
	p.finish(delta)
	if err := p.r.Check(); err != nil {
		return r, l.fail(s.from, "%s: %v", quoteShort(p.r.Name), err)
	}
	return p.r, nil
}

type resourceParser struct {
	l    *line
	rest span
	r    synth.Resource

	versioned, hashed, referred bool
}

// prefixes takes w:, hb: and TYPE: off.
func (p *resourceParser) prefixes() {
	for {
		word, _, ok := strings.Cut(p.l.str(p.rest), ":")
		if !ok {
			return
		}
		switch url := xds.TypeURL(word); {
		case word == "w":
			p.r.Wrapped = true
		case word == "hb":
			p.r.Wrapped, p.r.Empty = true, true
		case url != "":
			p.r.TypeURL = url
		default:
			return
		}
		p.rest.from += len(word) + 1
	}
}

// suffix takes one part behind the name.
func (p *resourceParser) suffix() error {
	at := p.rest.from
	c := p.l.text[at]
	p.rest.from++
	var err error
	switch c {
	case '@':
		if p.versioned {
			return p.l.fail(at, "a second version").hint("a name with @ stands in double quotes")
		}
		p.versioned, p.r.Wrapped = true, true
		p.r.Version, p.rest, err = p.l.part(p.rest, "@#{~(")
		return err
	case '#':
		return p.hash(at)
	case '~':
		end, err := p.l.until(p.rest.from, p.rest.to, "@#{~(")
		if err != nil {
			return err
		}
		if p.r.HasTTL {
			return p.l.fail(at, "a second TTL").hint("a name with ~ stands in double quotes")
		}
		p.r.HasTTL, p.r.Wrapped = true, true
		value := span{p.rest.from, end}
		minus := value.from < value.to && p.l.text[value.from] == '-'
		if minus {
			value.from++
		}
		if p.r.TTL, err = p.l.duration(value); err != nil {
			return err
		}
		if minus {
			p.r.TTL = -p.r.TTL
		}
		p.rest.from = end
		return nil
	case '{', '(':
		end, err := p.l.scan(at, p.rest.to, func(i int, _ byte) bool { return i > at })
		if err != nil {
			return err
		}
		p.rest.from = end
		if c == '{' {
			return p.refs(span{at, end})
		}
		return p.attributes(span{at, end})
	}
	return p.l.fail(at, "%s after the name of a resource", quoteShort(p.l.text[at:p.rest.to])).hint("a name with special signs stands in double quotes")
}

// hash is the content, or a marker.
func (p *resourceParser) hash(at int) error {
	quoted := p.rest.from < p.rest.to && p.l.text[p.rest.from] == '"'
	if prefix := p.l.str(p.rest); strings.HasPrefix(prefix, `key="`) {
		p.rest.from += len("key=")
		return p.scopeKey(at)
	}
	v, rest, err := p.l.part(p.rest, "@#{~(")
	if err != nil {
		return err
	}
	p.rest = rest
	switch {
	case !quoted && wordOf(markers, v) != nil:
		*wordOf(markers, v).of(&p.r) = true
	case !quoted && strings.HasPrefix(v, "key") && xds.ShortType(p.r.TypeURL) == "SRDS":
		if p.r.ScopeKey != "" {
			return p.l.fail(at, "a second scope key")
		}
		p.r.ScopeKey = v
	case p.hashed:
		return p.l.fail(at, "a second content").hint("a name with # stands in double quotes")
	case v == "" && !quoted:
		return p.l.fail(at, "nothing after #")
	default:
		p.r.Content, p.hashed = v, true
	}
	return nil
}

// scopeKey is a scope key in quotes.
func (p *resourceParser) scopeKey(at int) (err error) {
	if p.r.ScopeKey != "" {
		return p.l.fail(at, "a second scope key")
	}
	p.r.ScopeKey, p.rest, err = p.l.part(p.rest, "")
	return err
}

func (p *resourceParser) refs(s span) error {
	if p.referred {
		return p.l.fail(s.from, "references stand here twice")
	}
	p.referred = true
	items, err := p.l.items(s, '{')
	if err != nil {
		return err
	}
	for _, it := range items {
		if err := p.ref(it); err != nil {
			return err
		}
	}
	return nil
}

// ref is one reference: a word of its own, or else a cluster.
func (p *resourceParser) ref(it span) error {
	refs := &p.r.Refs
	word, _, valued := strings.Cut(p.l.str(it), "=")
	of, value := wordOf(references, word), it
	switch {
	case of == nil:
	case valued:
		value.from += len(word) + 1
	case of.flag != nil:
		*of.flag(refs) = true
		return nil
	default:
		return p.l.fail(it.from, "%s needs a name", word).hint("%s=NAME, or \"%s\" for a cluster of this name", word, word)
	}
	v, err := p.l.textOf(value)
	switch {
	case err != nil:
		return err
	case of == nil:
		refs.Clusters = append(refs.Clusters, v)
	case of.names != nil:
		*of.names(refs) = append(*of.names(refs), v)
	case word == "eds":
		refs.EDS, refs.EDSName = true, v
	case word != "src":
		return p.l.fail(it.from, "%s has no name behind it", word)
	case !slices.Contains(synth.Sources(), v):
		return p.l.fail(value.from, "%s is no config source", quoteShort(v)).hint("one of %s", strings.Join(synth.Sources(), ", "))
	default:
		refs.Source = v
	}
	return nil
}

// attributes are what stands in round brackets.
func (p *resourceParser) attributes(s span) error {
	items, err := p.l.items(s, '(')
	if err != nil {
		return err
	}
	for _, it := range items {
		key, _, _ := strings.Cut(p.l.str(it), "=")
		value := span{min(it.from+len(key)+1, it.to), it.to}
		switch key {
		case "payload":
			if p.r.Payload, err = p.l.textOf(value); err != nil {
				return err
			}
			p.r.OwnName, p.r.Wrapped = true, true
		case "variant":
			if p.r.Variant, err = p.l.textOf(value); err != nil {
				return err
			}
			p.r.Wrapped = true
		case "both-names":
			p.r.BothNames, p.r.Wrapped = true, true
		case "alias":
			v, err := p.l.textOf(value)
			if err != nil {
				return err
			}
			p.r.Aliases, p.r.Wrapped = append(p.r.Aliases, v), true
		case "type":
			if p.r.TypeURL, err = p.l.typeURL(value); err != nil {
				return err
			}
		default:
			return p.l.fail(it.from, "%s says nothing of a resource", quoteShort(key)).hint("one of payload=NAME, type=TYPE, alias=NAME, variant=TEXT, both-names")
		}
	}
	return nil
}

// finish derives the content where no hash gives it. That of a scope that names
// its route configuration is the name.
func (p *resourceParser) finish(delta bool) {
	scope := xds.ShortType(p.r.TypeURL) == "SRDS" && len(p.r.Refs.Routes) > 0
	if delta && !p.hashed && !p.r.Empty && !scope {
		p.r.Content = p.r.Version
	}
}
