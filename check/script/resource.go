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
		end, err := p.l.scan(p.rest.from, p.rest.to, func(_ int, c byte) bool { return strings.IndexByte("@#{~(", c) >= 0 })
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
	case !quoted && v == "corrupt":
		p.r.Corrupt = true
	case !quoted && v == "unknown-field":
		p.r.Unknown = true
	case !quoted && v == "deprecated":
		p.r.Dated = true
	case !quoted && v == "pgv-bad":
		p.r.Invalid = true
	case !quoted && v == "grpc-bad":
		p.r.NotGRPC = true
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

// refWords are the words of a reference that have a value, and the others.
var refWords = []string{"eds", "rds", "sds", "ecds", "leds", "src", "vhds", "srds", "default"}

func (p *resourceParser) refs(s span) error {
	if p.referred {
		return p.l.fail(s.from, "references stand here twice")
	}
	p.referred = true
	items, err := p.l.items(s, '{')
	if err != nil {
		return err
	}
	refs := &p.r.Refs
	for _, it := range items {
		eq := strings.IndexByte(p.l.str(it), '=')
		if p.l.text[it.from] == '"' || eq < 0 || !slices.Contains(refWords, p.l.str(it)[:eq]) {
			if err := p.bareRef(it); err != nil {
				return err
			}
			continue
		}
		word := p.l.str(it)[:eq]
		v, err := p.l.textOf(span{it.from + eq + 1, it.to})
		if err != nil {
			return err
		}
		switch word {
		case "eds":
			refs.EDS, refs.EDSName = true, v
		case "rds":
			refs.Routes = append(refs.Routes, v)
		case "sds":
			refs.Secrets = append(refs.Secrets, v)
		case "ecds":
			refs.Filters = append(refs.Filters, v)
		case "leds":
			refs.Groups = append(refs.Groups, v)
		case "src":
			if refs.Source = v; !slices.Contains(synth.Sources(), v) {
				return p.l.fail(it.from+eq+1, "%s is no config source", quoteShort(v)).hint("one of %s", strings.Join(synth.Sources(), ", "))
			}
		default:
			return p.l.fail(it.from, "%s has no name behind it", word)
		}
	}
	return nil
}

func (p *resourceParser) bareRef(it span) error {
	refs := &p.r.Refs
	switch p.l.str(it) {
	case "eds":
		refs.EDS = true
	case "vhds":
		refs.VHDS = true
	case "srds":
		refs.SRDS = true
	case "default":
		refs.Default = true
	case "rds", "sds", "ecds", "leds", "src":
		return p.l.fail(it.from, "%s needs a name", p.l.str(it)).hint("%s=NAME, or \"%s\" for a cluster of this name", p.l.str(it), p.l.str(it))
	default:
		v, err := p.l.textOf(it)
		if err != nil {
			return err
		}
		refs.Clusters = append(refs.Clusters, v)
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
