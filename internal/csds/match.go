package csds

import (
	"fmt"
	"regexp"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/structpb"
)

// selection is which nodes are asked for: those that any of its matchers fits, all
// if there is none.
type selection []nodeMatcher

// nodeMatcher fits a node whose id and metadata all fit.
type nodeMatcher struct {
	id       func(string) bool
	metadata []func(*structpb.Struct) bool
}

const (
	// maxMatchers bounds the matchers of a request, and maxNesting how deep one
	// of them goes.
	maxMatchers = 1000
	maxNesting  = 8
	// maxRegex bounds the regular expressions of a request together, in bytes: seven
	// bytes can become a thousand instructions.
	maxRegex = 1 << 10
)

// reading is a request that is being read.
type reading struct {
	regex int // bytes of regular expressions up to now
}

// unsupported is the name of what a request asks for that is not known here.
type unsupported string

func (u unsupported) Error() string { return fmt.Sprintf("%s is not supported", string(u)) }

func anything(string) bool { return true }

// selectionOf reads the matchers of a request.
func selectionOf(matchers []*matcherv3.NodeMatcher) (selection, error) {
	if len(matchers) > maxMatchers {
		return nil, fmt.Errorf("there are %d node_matchers, and %d is the most", len(matchers), maxMatchers)
	}
	var out selection
	r := &reading{}
	for i, m := range matchers {
		place := fmt.Sprintf("node_matchers[%d].", i)
		n := nodeMatcher{id: anything}
		if m.GetNodeId() != nil {
			var err error
			if n.id, err = r.text(m.GetNodeId(), place+"node_id."); err != nil {
				return nil, err
			}
		}
		for j, of := range m.GetNodeMetadatas() {
			fits, err := r.structure(of, fmt.Sprintf("%snode_metadatas[%d].", place, j))
			if err != nil {
				return nil, err
			}
			n.metadata = append(n.metadata, fits)
		}
		out = append(out, n)
	}
	return out, nil
}

// named says whether a client of this node id may be asked for.
func (s selection) named(id string) bool {
	for i := range s {
		if s[i].id(id) {
			return true
		}
	}
	return len(s) == 0
}

// takes says whether a node is asked for.
func (s selection) takes(n *corev3.Node) bool {
	for i := range s {
		if s[i].takes(n) {
			return true
		}
	}
	return len(s) == 0
}

func (m *nodeMatcher) takes(n *corev3.Node) bool {
	if !m.id(n.GetId()) {
		return false
	}
	for _, fits := range m.metadata {
		if !fits(n.GetMetadata()) {
			return false
		}
	}
	return true
}

// text reads a StringMatcher. A regular expression has to fit all of the text, as
// in Envoy.
func (r *reading) text(m *matcherv3.StringMatcher, place string) (func(string) bool, error) {
	fold := func(s string) string { return s }
	if m.GetIgnoreCase() {
		fold = strings.ToLower
	}
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		want := fold(p.Exact)
		return func(s string) bool { return fold(s) == want }, nil
	case *matcherv3.StringMatcher_Prefix:
		want := fold(p.Prefix)
		return func(s string) bool { return strings.HasPrefix(fold(s), want) }, nil
	case *matcherv3.StringMatcher_Suffix:
		want := fold(p.Suffix)
		return func(s string) bool { return strings.HasSuffix(fold(s), want) }, nil
	case *matcherv3.StringMatcher_Contains:
		want := fold(p.Contains)
		return func(s string) bool { return strings.Contains(fold(s), want) }, nil
	case *matcherv3.StringMatcher_SafeRegex:
		if r.regex += len(p.SafeRegex.GetRegex()); r.regex > maxRegex {
			return nil, fmt.Errorf("%ssafe_regex: the regular expressions of a request have at most %d bytes together", place, maxRegex)
		}
		of, err := regexp.Compile(`^(?:` + p.SafeRegex.GetRegex() + `)$`)
		if err != nil {
			return nil, fmt.Errorf("%ssafe_regex: %w", place, err)
		}
		return of.MatchString, nil
	case *matcherv3.StringMatcher_Custom:
		return nil, unsupported(place + "custom")
	}
	return nil, unsupported(place + "match_pattern without a value")
}

// structure reads a StructMatcher.
func (r *reading) structure(m *matcherv3.StructMatcher, place string) (func(*structpb.Struct) bool, error) {
	var path []string
	for _, p := range m.GetPath() {
		key, is := p.GetSegment().(*matcherv3.StructMatcher_PathSegment_Key)
		if !is {
			return nil, unsupported(place + "path without a key")
		}
		path = append(path, key.Key)
	}
	if len(path) == 0 {
		return nil, unsupported(place + "path without a segment")
	}
	fits, err := r.value(m.GetValue(), place+"value.", 0)
	if err != nil {
		return nil, err
	}
	return func(s *structpb.Struct) bool {
		v := structpb.NewStructValue(s)
		for _, key := range path {
			if v = v.GetStructValue().GetFields()[key]; v == nil {
				return false
			}
		}
		return fits(v)
	}, nil
}

// value reads a ValueMatcher.
func (r *reading) value(m *matcherv3.ValueMatcher, place string, depth int) (func(*structpb.Value) bool, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("%s is nested too deeply", strings.TrimSuffix(place, "."))
	}
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.ValueMatcher_NullMatch_:
		return func(v *structpb.Value) bool { _, is := v.GetKind().(*structpb.Value_NullValue); return is }, nil
	case *matcherv3.ValueMatcher_BoolMatch:
		return func(v *structpb.Value) bool {
			b, is := v.GetKind().(*structpb.Value_BoolValue)
			return is && b.BoolValue == p.BoolMatch
		}, nil
	case *matcherv3.ValueMatcher_PresentMatch:
		return func(v *structpb.Value) bool { return p.PresentMatch && primitive(v) }, nil
	case *matcherv3.ValueMatcher_StringMatch:
		fits, err := r.text(p.StringMatch, place+"string_match.")
		return func(v *structpb.Value) bool {
			s, is := v.GetKind().(*structpb.Value_StringValue)
			return is && fits(s.StringValue)
		}, err
	case *matcherv3.ValueMatcher_DoubleMatch:
		return number(p.DoubleMatch, place+"double_match.")
	case *matcherv3.ValueMatcher_OrMatch:
		var any []func(*structpb.Value) bool
		for i, one := range p.OrMatch.GetValueMatchers() {
			fits, err := r.value(one, fmt.Sprintf("%sor_match.value_matchers[%d].", place, i), depth+1)
			if err != nil {
				return nil, err
			}
			any = append(any, fits)
		}
		return func(v *structpb.Value) bool {
			for _, fits := range any {
				if fits(v) {
					return true
				}
			}
			return false
		}, nil
	case *matcherv3.ValueMatcher_ListMatch:
		fits, err := r.value(p.ListMatch.GetOneOf(), place+"list_match.one_of.", depth+1)
		return func(v *structpb.Value) bool {
			for _, one := range v.GetListValue().GetValues() {
				if fits(one) {
					return true
				}
			}
			return false
		}, err
	}
	return nil, unsupported(place + "match_pattern without a value")
}

func primitive(v *structpb.Value) bool {
	switch v.GetKind().(type) {
	case nil, *structpb.Value_StructValue, *structpb.Value_ListValue:
		return false
	}
	return true
}

// number reads a DoubleMatcher.
func number(m *matcherv3.DoubleMatcher, place string) (func(*structpb.Value) bool, error) {
	of := func(fits func(float64) bool) func(*structpb.Value) bool {
		return func(v *structpb.Value) bool {
			n, is := v.GetKind().(*structpb.Value_NumberValue)
			return is && fits(n.NumberValue)
		}
	}
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.DoubleMatcher_Range:
		return of(func(n float64) bool { return n >= p.Range.GetStart() && n < p.Range.GetEnd() }), nil
	case *matcherv3.DoubleMatcher_Exact:
		return of(func(n float64) bool { return n == p.Exact }), nil
	}
	return nil, unsupported(place + "match_pattern without a value")
}
