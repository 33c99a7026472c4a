package origin

import (
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/clip"
)

// Source is an object of a control plane that a resource, or a part of it, was
// made of. Its texts are those of a peer: valid UTF-8 of a bounded length, with
// whatever characters.
type Source struct {
	// System is whose scheme it is: "Envoy Gateway".
	System string `json:"system"`
	// Kind is "" where the control plane left it out.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Section is the sectionName: of a listener or of a rule with a name.
	Section string `json:"section,omitempty"`
	Rule    Rule   `json:"rule,omitempty"`
	Port    uint32 `json:"port,omitempty"`
	// ByName says that nothing but the name of the resource tells it: a guess.
	ByName bool `json:"by_name,omitempty"`
}

// Rule is the index of a rule and one; 0: there is none.
type Rule uint32

// MarshalJSON writes the index.
func (r Rule) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(r)-1, 10), nil }

// UnmarshalJSON reads the index.
func (r *Rule) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseUint(string(b), 10, 31)
	*r = Rule(n) + 1
	return err
}

// UnknownKind stands for a kind that was left out.
const UnknownKind = "unknown"

func (s *Source) kind() string {
	if s.Kind == "" {
		return UnknownKind
	}
	return s.Kind
}

// String is such as "HTTPRoute shop/checkout, rule 2". What comes from outside is
// as it came.
func (s Source) String() string {
	var b strings.Builder
	if s.Kind == "" {
		b.WriteString("kind ")
	}
	b.WriteString(s.kind() + " ")
	if s.Namespace != "" {
		b.WriteString(s.Namespace + "/")
	}
	b.WriteString(s.Name)
	if s.Section != "" {
		b.WriteString(", section " + s.Section)
	}
	if s.Rule != 0 {
		b.WriteString(", rule " + strconv.FormatUint(uint64(s.Rule-1), 10))
	}
	if s.Port != 0 {
		b.WriteString(", port " + strconv.FormatUint(uint64(s.Port), 10))
	}
	if s.ByName {
		b.WriteString(" (by its name)")
	}
	return b.String()
}

// Paths are what a Source can be asked for by: its kind, its namespace in it, and
// itself, as "HTTPRoute", "HTTPRoute/shop" and "HTTPRoute/shop/checkout".
func (s *Source) Paths() [3]string {
	kind := s.kind()
	if s.Namespace == "" {
		return [3]string{kind, kind, kind + "/" + s.Name}
	}
	in := kind + "/" + s.Namespace
	return [3]string{kind, in, in + "/" + s.Name}
}

// maxText is more than a name in Kubernetes may have bytes: 253.
const maxText = 256

// text makes bytes of a peer text.
func text(b []byte) string {
	return clip.Text(strings.ToValidUTF8(clip.Text(b, maxText), "\uFFFD"), maxText)
}

// Words are the first few of many sources in a sentence.
func Words(list []Source, more bool, most int) string {
	words := make([]string, 0, most)
	for _, s := range list[:min(len(list), most)] {
		words = append(words, s.String())
	}
	out := strings.Join(words, "; ")
	switch rest := len(list) - len(words); {
	case more:
		out += "; and more"
	case rest > 0:
		out += "; and " + strconv.Itoa(rest) + " more"
	}
	return out
}
