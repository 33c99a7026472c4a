package configdump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/internal/lenient"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

const (
	// MaxBytes is how long a dump may be. A large mesh has some 100 MB.
	MaxBytes     = 256 << 20
	maxResources = 1 << 20
	maxNotes     = 16
	maxText      = 4096 // bytes of a name, a version or a reason
)

// mark is how some editors and shells begin a text in UTF-8.
const mark = "\uFEFF"

var begins = regexp.MustCompile(`^\x{FEFF}?\s*\{\s*"configs"\s*:`)

// Is says whether a text begins as a dump does.
func Is(head []byte) bool { return begins.Match(head) }

// Read reads a dump.
func Read(data []byte) (*Dump, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("it is longer than %d MiB", MaxBytes>>20)
	}
	r, err := read(data)
	if err != nil {
		return nil, err
	}
	return r.dump, nil
}

// read returns what is before an error, too.
func read(data []byte) (*reader, error) {
	if !Is(data) {
		return nil, errors.New(`it is no config_dump: that is an object with "configs"`)
	}
	r := &reader{in: inspect.New(nil), dump: &Dump{sources: map[string]State{}}}
	err := r.read(data)
	r.finish()
	return r, inMiddle(err)
}

type reader struct {
	in   *inspect.Inspector
	dump *Dump
	// begun says that there is a section for the bootstrap, and said that it has one.
	begun, said bool
}

// read goes through the text once, and holds no more of it apart than one
// resource.
func (r *reader) read(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte(mark))))
	return object(d, func(key string) error {
		if key != "configs" {
			return skip(d)
		}
		return list(d, func() error { return r.section(d) })
	})
}

// section reads one of the configs. Its lists have names of their own, so that it
// does not matter where "@type" stands.
func (r *reader) section(d *json.Decoder) error {
	if next, err := d.Token(); err != nil || next != json.Delim('{') {
		return wrong(err)
	}
	known := false
	err := members(d, func(key string) error {
		if key == "@type" {
			var url string
			if err := d.Decode(&url); err != nil {
				return err
			}
			name := xds.TypeName(url)
			name = name[strings.LastIndexByte(name, '.')+1:]
			typ, is := sections[name]
			if !is {
				r.note("%s is not read", clipped(name))
			} else if typ != "" {
				r.dump.has(typ)
			}
			r.begun = r.begun || name == "BootstrapConfigDump"
			known = true
			return nil
		}
		if key == "bootstrap" {
			var b struct{ Node struct{ ID string } }
			if err := lax(d, &b); err != nil {
				return err
			}
			r.dump.Node, r.said = clipped(b.Node.ID), true
			return nil
		}
		of, is := lists[key]
		if !is {
			var raw json.RawMessage
			err := d.Decode(&raw)
			if len(raw) > 2 && raw[0] == '[' {
				r.note("its %s are not read", clipped(key))
			}
			return err
		}
		return list(d, func() error {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return err
			}
			return r.entry(of, raw)
		})
	})
	if err == nil && !known {
		r.note("a section says no @type: whether it has all of its type is not known")
	}
	return err
}

// sections are the messages of a dump, and the type of which each has all
// resources.
var sections = map[string]string{
	"BootstrapConfigDump": "", "ListenersConfigDump": "LDS", "ClustersConfigDump": "CDS", "RoutesConfigDump": "RDS",
	"ScopedRoutesConfigDump": "SRDS", "EndpointsConfigDump": "EDS", "SecretsConfigDump": "SDS", "EcdsConfigDump": "ECDS",
}

// content is where the entries of a list have their resource.
type content struct {
	typ   string
	state State
	key   string
}

// lists are those of all sections, by their names without underscores.
var lists = map[string]content{
	"staticlisteners":           {"LDS", Static, "listener"},
	"dynamiclisteners":          {"LDS", "", "listener"},
	"dynamicactivelisteners":    {"LDS", Active, "listener"}, // of Envoys up to 1.12, as the next two
	"dynamicwarminglisteners":   {"LDS", Warming, "listener"},
	"dynamicdraininglisteners":  {"LDS", Draining, "listener"},
	"staticclusters":            {"CDS", Static, "cluster"},
	"dynamicactiveclusters":     {"CDS", Active, "cluster"},
	"dynamicwarmingclusters":    {"CDS", Warming, "cluster"},
	"staticrouteconfigs":        {"RDS", Static, "routeconfig"},
	"dynamicrouteconfigs":       {"RDS", Active, "routeconfig"},
	"inlinescopedrouteconfigs":  {"SRDS", Static, "scopedrouteconfigs"},
	"dynamicscopedrouteconfigs": {"SRDS", Active, "scopedrouteconfigs"},
	"staticendpointconfigs":     {"EDS", Static, "endpointconfig"},
	"dynamicendpointconfigs":    {"EDS", Active, "endpointconfig"},
	"staticsecrets":             {"SDS", Static, "secret"},
	"dynamicactivesecrets":      {"SDS", Active, "secret"},
	"dynamicwarmingsecrets":     {"SDS", Warming, "secret"},
	"ecdsfilters":               {"ECDS", Active, "ecdsfilter"},
}

// entry reads one entry of a list.
func (r *reader) entry(of content, raw json.RawMessage) error {
	all, ok := fields(raw)
	if !ok {
		r.note("an entry of %s is no object", of.typ)
		return nil
	}
	name := text(all["name"])
	if failed, ok := fields(all["errorstate"]); ok && len(failed) > 0 {
		res := Resource{
			Type: of.typ, State: Failed, Name: name, Version: text(failed["versioninfo"]),
			Updated: moment(failed["lastupdateattempt"]), Details: text(failed["details"]),
		}
		r.resource(res, failed["failedconfiguration"])
	}
	states := map[State]string{Active: "activestate", Warming: "warmingstate", Draining: "drainingstate"}
	if of.state != "" {
		r.held(of, name, all)
		return nil
	}
	for _, s := range []State{Active, Warming, Draining} {
		if inner, ok := fields(all[states[s]]); ok {
			r.held(content{of.typ, s, of.key}, name, inner)
		}
	}
	return nil
}

// held reads what one entry has of a resource, or of several scopes.
func (r *reader) held(of content, name string, all map[string]json.RawMessage) {
	res := Resource{Type: of.typ, State: of.state, Name: name, Version: text(all["versioninfo"]), Updated: moment(all["lastupdated"])}
	if res.Type == "SDS" && res.Version == "uninitialized" { // as Envoy calls it
		res.State, res.Version = Awaited, ""
	}
	raw := all[of.key]
	if of.typ == "SRDS" { // the name is that of the set
		res.Name = ""
		var each []json.RawMessage
		_ = json.Unmarshal(raw, &each)
		for _, one := range each {
			r.resource(res, one)
		}
		return
	}
	if len(raw) > 0 {
		r.resource(res, raw)
	}
}

// resource completes a resource by its content, and keeps it.
func (r *reader) resource(res Resource, raw json.RawMessage) {
	if r.full() {
		return
	}
	if all, ok := fields(raw); ok {
		res.TypeURL = text(all["@type"])
		if res.Name == "" {
			if res.Name = text(all["name"]); res.Type == "EDS" {
				res.Name = text(all["clustername"])
			}
		}
		var any anypb.Any
		notes, err := lenient.JSON(raw).Into(&any, protoregistry.GlobalTypes)
		for _, n := range notes {
			if n.LeftOut() && len(res.Unread) < maxNotes {
				res.Unread = append(res.Unread, n.Message)
			}
		}
		if err != nil {
			res.Unread = []string{err.Message}
		} else {
			r.body(&res, any.Value)
		}
	}
	res.Name = decode.NormalName(res.Name)
	r.dump.Resources = append(r.dump.Resources, res)
}

// full says whether there is no room for one more resource, and notes it.
func (r *reader) full() bool {
	full := len(r.dump.Resources) >= maxResources
	if full {
		r.note("it has more than %d resources: the others are not read", maxResources)
	}
	return full
}

// body gives a resource its content.
func (r *reader) body(res *Resource, b []byte) {
	res.Body = b
	facts := r.in.Inspect(res.TypeURL, b, true)
	res.Hash = facts.Hash
	if res.Type == "CDS" && facts.EDS && res.State != Failed {
		r.source(facts, res.State)
	}
}

// source notes that a cluster gets its endpoints by EDS.
func (r *reader) source(f *inspect.Facts, s State) {
	for _, ref := range f.Refs {
		if ref.Type != "EDS" {
			continue
		}
		name := decode.NormalName(ref.Name)
		if was := r.dump.sources[name]; was == "" || was == Warming {
			r.dump.sources[name] = s
		}
	}
}

func (r *reader) finish() {
	if r.begun && !r.said { // every Envoy has a bootstrap
		r.dump.By = ByIstiod
	}
	for i := range r.dump.Resources {
		res := &r.dump.Resources[i]
		res.Derived = res.Type == "EDS" && r.dump.Has("CDS") && r.dump.sources[res.Name] == ""
	}
}

func (r *reader) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); len(r.dump.Notes) < maxNotes && !slices.Contains(r.dump.Notes, n) {
		r.dump.Notes = append(r.dump.Notes, n)
	}
}

// plainKey is a name of a field in either form.
func plainKey(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

// fields are the members of an object, by their plain keys.
func fields(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var all map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &all) != nil || all == nil {
		return nil, false
	}
	out := make(map[string]json.RawMessage, len(all))
	for k, v := range all {
		out[plainKey(k)] = v
	}
	return out, true
}

func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return clipped(s)
}

func moment(raw json.RawMessage) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text(raw))
	return t
}

func clipped(s string) string { return clip.Text(s, maxText) }

// object calls f for each member of the object that comes next; f takes its
// value.
func object(d *json.Decoder, f func(key string) error) error {
	if next, err := d.Token(); err != nil || next != json.Delim('{') {
		return wrong(err)
	}
	return members(d, f)
}

func members(d *json.Decoder, f func(key string) error) error {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := f(plainKey(name)); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func list(d *json.Decoder, f func() error) error {
	switch next, err := d.Token(); {
	case err == nil && next == nil: // null
		return nil
	case err != nil || next != json.Delim('['):
		return wrong(err)
	}
	for d.More() {
		if err := f(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func wrong(err error) error {
	if err == nil {
		err = errors.New("it is no config_dump: its configs are a list of objects with lists")
	}
	return err
}

func skip(d *json.Decoder) error {
	var raw json.RawMessage
	return d.Decode(&raw)
}

// lax decodes what it can of the next value.
func lax(d *json.Decoder, v any) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	_ = json.Unmarshal(raw, v)
	return nil
}
