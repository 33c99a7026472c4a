package report

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"hash/maphash"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// Survey is what someone who gets a recording can read in it, and cannot.
type Survey struct {
	seed     maphash.Seed
	seen     map[uint64]bool            // contents that were looked at
	masked   map[string]int             // values of longMask and more, by field
	messages int                        // in which something is masked
	names    map[string]map[string]bool // by kind
	more     map[string]map[uint64]bool // that are not kept, by their hashes
	counted  int                        // of all kinds
	beyond   map[string]bool            // kinds of which some are not counted
}

// The kinds of what is readable, in the order in which they are told.
var kinds = []string{"clients", "resources", "other names", "hosts", "addresses", "certificates", "metadata of clients"}

const (
	maxNames    = 20_000  // of a kind
	maxName     = 200     // characters of one
	maxCounted  = 1 << 20 // of all kinds, beside those
	maxContents = 1 << 20

	// Masks say what they are from longMask bytes on: see decode. A field of
	// bytes is shown in base64.
	longMask   = 16
	maskHead   = "[masked:"
	maskBase64 = "W21hc2tlZD"
)

// NewSurvey returns a Survey that has seen nothing.
func NewSurvey() *Survey {
	s := &Survey{seed: maphash.MakeSeed(), seen: map[uint64]bool{}, masked: map[string]int{}, names: map[string]map[string]bool{}, more: map[string]map[uint64]bool{}, beyond: map[string]bool{}}
	for _, k := range kinds {
		s.names[k], s.more[k] = map[string]bool{}, map[uint64]bool{}
	}
	return s
}

// See looks at an entry.
func (s *Survey) See(e *session.Entry, c *check.Change) {
	if p := e.Peer; p != nil {
		for _, a := range []string{p.Client, p.Listen, p.Upstream, p.Local} {
			s.text("peer", "address", a)
		}
		for _, t := range []*session.TLS{p.ClientTLS, p.ServerTLS} {
			if t != nil {
				for _, name := range append(slices.Clone(t.Identities), t.ServerName, t.Issuer) {
					s.add("certificates", name)
					s.text("peer", "certificate", name)
				}
			}
		}
	}
	for _, fields := range [][]session.Field{e.Headers, e.Sent} {
		for _, f := range fields {
			s.text("header", f.Name, f.Value)
		}
	}
	if e.Status != nil {
		s.text("status", "message", e.Status.Message)
	}
	if e.GoAway != nil {
		s.text("status", "debug", e.GoAway.Debug)
	}
	if h := e.Held; h != nil {
		s.text("held", "node", h.Node)
		s.text("peer", "address", h.Address)
		s.text("held", "failed", h.Failed)
	}
	if n := e.Note; n != nil {
		s.text("note", "text", n.Text)
		var static []string // of the bootstrap
		if n.Code == session.NoteStatic && json.Unmarshal([]byte(n.Text), &static) == nil {
			for _, name := range static {
				s.add("other names", name)
			}
		}
	}
	m := c.Message
	if e.Message == nil || m == nil && e.Held == nil {
		return
	}
	if e.Message.Masked {
		s.messages++
	}
	s.add("clients", c.Client)
	if m == nil {
		s.whole(e, c)
		return
	}
	for _, names := range [][]string{m.Names, m.Subscribe, m.Unsubscribe, m.Removed} {
		for _, name := range names {
			if name != "*" {
				s.add("resources", name)
				s.text(c.Type, "name", name)
			}
		}
	}
	for i := range m.InitialVersions {
		s.add("resources", m.InitialVersions[i].Name)
	}
	s.text(c.Type, "control_plane", m.ControlPlane)
	if m.Node != nil || !m.Request() && !m.Response() {
		s.whole(e, c)
		return
	}
	if m.Error != nil {
		s.text(c.Type, "error_detail", m.Error.Message)
	}
	for i := range m.ResourceErrors {
		s.add("resources", m.ResourceErrors[i].Name)
		s.text(c.Type, "resource_errors", m.ResourceErrors[i].Name)
		s.text(c.Type, "resource_errors", m.ResourceErrors[i].Message)
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		for _, name := range append(slices.Clone(r.Aliases), r.Name) {
			s.add("resources", name)
		}
		if s.before(r.Body) {
			continue
		}
		doc := decode.Decoder{Types: c.Types}.Resource(r)
		s.tree(c.Type, "", &doc.Root)
	}
}

// before says whether a content was looked at.
func (s *Survey) before(content []byte) bool {
	key := maphash.Bytes(s.seed, content)
	if s.seen[key] {
		return true
	}
	if len(s.seen) < maxContents {
		s.seen[key] = true
	}
	return false
}

// whole looks at a message that names a node, or is none of discovery.
func (s *Survey) whole(e *session.Entry, c *check.Change) {
	data := e.Message.Data.Bytes()
	if s.before(data) {
		return
	}
	doc := decode.Decoder{Types: c.Types}.Decode(c.Method, e.Side, "", data)
	if node, ok := doc.Root.Get("node"); ok {
		if id, ok := node.Get("cluster"); ok {
			s.add("clients", id.Text)
		}
		if meta, ok := node.Get("metadata"); ok {
			s.metadata("", meta)
		}
	}
	s.tree("requests", "", &doc.Root)
}

// metadata lists each value with where it stands.
func (s *Survey) metadata(path string, t *document.Tree) {
	for i := range t.Members {
		m := &t.Members[i]
		s.metadata(strings.TrimPrefix(path+"."+m.Name, "."), &m.Value)
	}
	for i := range t.Items {
		s.metadata(path, &t.Items[i])
	}
	if len(t.Members)+len(t.Items) == 0 {
		s.add("metadata of clients", path+": "+t.Text)
	}
}

func (s *Survey) tree(kind, field string, t *document.Tree) {
	switch t.Kind {
	case document.String:
		s.text(kind, field, t.Text)
	case document.Array:
		for i := range t.Items {
			s.tree(kind, field, &t.Items[i])
		}
	case document.Object:
		for i := range t.Members {
			m := &t.Members[i]
			if m.Name == "extensions" && kind == "requests" {
				continue // names of Envoy's own
			}
			s.tree(kind, m.Name, &m.Value)
		}
	}
}

// Dump looks at a JSON text, such as a config_dump.
func (s *Survey) Dump(text []byte) {
	type level struct {
		object, key bool   // of an object; a key is next
		field       string // that was read last
		of          string // of a node: extensions or metadata
	}
	stack := []level{{}}
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return
		}
		at := &stack[len(stack)-1]
		if v, is := token.(json.Delim); is && (v == '}' || v == ']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if v, is := token.(string); is && at.key {
			at.field, at.key = v, false
			continue
		}
		at.key = at.object
		of, field := at.of, at.field
		if len(stack) > 1 && stack[len(stack)-2].field == "node" && (field == "extensions" || field == "metadata") {
			of = field
		}
		switch v := token.(type) {
		case json.Delim:
			stack = append(stack, level{object: v == '{', key: v == '{', field: field, of: of})
		case string:
			if of != "extensions" { // which are names of Envoy's own
				s.text("config_dump", field, v)
			}
			if of == "metadata" {
				s.add("metadata of clients", field+": "+v)
			}
		}
	}
}

// Hosts are words with dots that end in letters. What the API is called looks the
// same, and begins with words of its own. An address of IPv4 may be a part of a word,
// such as 10.0.0.1_443.
var (
	host    = regexp.MustCompile(`(?i)\b(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{0,61}\b`)
	ipv4    = regexp.MustCompile(`[0-9.]+`)
	hump    = regexp.MustCompile(`[a-z][A-Z]`) // of a type in an error text
	ownWord = regexp.MustCompile(`^(?:envoy|google|type|xds|udpa|opencensus|grpc|istio\.(?:mixer|networking)|extensions)\.`)
)

// text looks at a value, of a kind of message and a field of it.
func (s *Survey) text(kind, field, text string) {
	if field == "@type" || field == "type_url" || strings.HasPrefix(text, "type.googleapis.com/") {
		return
	}
	n := strings.Count(text, maskHead)
	if strings.HasPrefix(text, maskBase64) {
		n++
	}
	if n > 0 {
		s.masked[strings.TrimSpace(kind+" "+field)] += n
	}
	switch {
	case s.certificates(text), n > 0 && strings.HasPrefix(text, maskHead):
		return
	case field == "domains", field == "server_names", field == "hostname", field == "address":
		if _, err := netip.ParseAddr(text); err != nil && text != "*" && kind != "peer" {
			s.add("hosts", text)
		}
	case field == "user_agent_name":
	case field == "name", field == "cluster", field == "region", field == "zone", field == "sub_zone", field == "stat_prefix", strings.HasSuffix(field, "_name"):
		if !ownWord.MatchString(text) {
			s.add("other names", text)
		}
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n,;|~()<>\"'=/@[]", r) }) {
		if a, err := netip.ParseAddr(word); err == nil {
			s.address(a)
		} else if at, err := netip.ParseAddrPort(word); err == nil {
			s.address(at.Addr())
		} else if strings.Count(word, ".") >= 3 {
			for _, part := range ipv4.FindAllString(word, -1) {
				if a, err := netip.ParseAddr(strings.Trim(part, ".")); err == nil {
					s.address(a)
				}
			}
		}
	}
	for _, h := range host.FindAllString(text, -1) {
		if !ownWord.MatchString(h) && !hump.MatchString(h) {
			s.add("hosts", h)
		}
	}
}

// certificates lists whom the certificates in a text, or in its base64, name. It
// says whether there are some.
func (s *Survey) certificates(text string) (there bool) {
	const begin = "-----BEGIN CERTIFICATE-----"
	rest := []byte(text)
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
		rest = raw
	}
	if !bytes.Contains(rest, []byte(begin)) {
		return false
	}
	for {
		block, after := pem.Decode(rest)
		if block == nil {
			return there
		}
		rest = after
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		there = true
		names := append([]string{c.Subject.String(), c.Issuer.String()}, c.DNSNames...)
		for _, u := range c.URIs {
			names = append(names, u.String())
		}
		for _, name := range append(names, c.EmailAddresses...) {
			s.add("certificates", name)
		}
		for _, ip := range c.IPAddresses {
			if a, ok := netip.AddrFromSlice(ip); ok {
				s.address(a.Unmap())
			}
		}
	}
}

func (s *Survey) address(a netip.Addr) {
	if !a.IsUnspecified() && !a.IsLoopback() {
		s.add("addresses", a.String())
	}
}

func (s *Survey) add(kind, name string) {
	name = render.Middle(name, maxName)
	switch names := s.names[kind]; {
	case name == "" || names[name]:
	case len(names) < maxNames:
		names[name] = true
	default:
		s.count(kind, maphash.String(s.seed, name))
	}
}

// count counts a name that is not kept, once.
func (s *Survey) count(kind string, name uint64) {
	switch {
	case s.more[kind][name]:
	case s.counted >= maxCounted:
		s.beyond[kind] = true
	default:
		s.counted++
		s.more[kind][name] = true
	}
}

// others are the names that are told as those of no other kind, and how many more there
// are.
func (s *Survey) others() (names []string, more int) {
	known := map[uint64]bool{}
	kinds := []string{"clients", "resources", "hosts"}
	for _, k := range kinds {
		for n := range s.names[k] {
			known[maphash.String(s.seed, n)] = true
		}
	}
	is := func(name uint64) bool {
		return known[name] || slices.ContainsFunc(kinds, func(k string) bool { return s.more[k][name] })
	}
	for n := range s.names["other names"] {
		if !is(maphash.String(s.seed, n)) {
			names = append(names, n)
		}
	}
	for n := range s.more["other names"] {
		if !is(n) {
			more++
		}
	}
	return names, more
}

// Text tells what was masked, and of what is readable so many of each kind; all if
// most is 0.
func (s *Survey) Text(most int) string {
	var b strings.Builder
	fields, count := make([]string, 0, len(s.masked)), 0
	for f, n := range s.masked {
		fields, count = append(fields, f), count+n
	}
	slices.SortFunc(fields, func(x, y string) int { return cmp.Or(s.masked[y]-s.masked[x], cmp.Compare(x, y)) })
	switch {
	case count > 0:
		fmt.Fprintf(&b, "masked: %s of %d bytes and more; shorter ones are not counted\n", render.Count(count, "value", "values"), longMask)
	case s.messages > 0:
		fmt.Fprintf(&b, "masked: values of fewer than %d bytes, in %s\n", longMask, render.Count(s.messages, "message", "messages"))
	default:
		b.WriteString("masked: nothing\n")
	}
	list(&b, fields, most, 0, false, func(f string) string { return fmt.Sprintf("%s (%d)", f, s.masked[f]) })
	for _, k := range kinds {
		names, more := slices.Collect(maps.Keys(s.names[k])), len(s.more[k])
		if k == "other names" {
			names, more = s.others()
		}
		slices.Sort(names)
		switch n := len(names) + more; {
		case s.beyond[k]:
			fmt.Fprintf(&b, "readable %s: more than %s\n", k, render.Number(n))
		case n == 0:
			fmt.Fprintf(&b, "readable %s: none\n", k)
		default:
			fmt.Fprintf(&b, "readable %s: %s\n", k, render.Number(n))
		}
		list(&b, names, most, more, s.beyond[k], func(n string) string { return n })
	}
	return b.String()
}

// list writes so many of words, and how many more there are; beyond: at least.
func list(b *strings.Builder, words []string, most, more int, beyond bool, say func(string) string) {
	shown := words
	if most > 0 {
		shown = words[:min(len(words), most)]
	}
	for _, w := range shown {
		fmt.Fprintf(b, "  %s\n", render.Safe(say(w)))
	}
	switch left := len(words) - len(shown) + more; {
	case beyond && left > 0:
		fmt.Fprintf(b, "  and more than %s more\n", render.Number(left))
	case beyond:
		b.WriteString("  and more\n")
	case left > 0:
		fmt.Fprintf(b, "  and %s more\n", render.Number(left))
	}
}
