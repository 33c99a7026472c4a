package descriptors

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Add adds the types of a descriptor set, which from names. What of it cannot be
// used, and which of its types are others here, is said in told, a sentence each.
// The error says why nothing of it can be used.
func (t *Types) Add(from string, set []byte) (told []string, err error) {
	files, err := parse(set)
	if err != nil {
		return nil, fmt.Errorf("cannot read the descriptors of %q: %w", from, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := sha256.Sum256(set)
	if k := t.now(); k != nil && k.sets[sum] {
		return nil, nil
	}
	a := &adding{from: from, known: t.now().clone(), files: make(map[string]*described), declared: make(map[string]*described), lacked: make(map[string]bool), room: maxNames}
	for _, f := range files {
		if a.file(f); a.room < 0 {
			return nil, fmt.Errorf("cannot read the descriptors of %q: its names are too long", from)
		}
	}
	for _, d := range a.order {
		a.build(d)
	}
	a.known.sets[sum] = true
	t.known.Store(a.known)
	return a.told(), nil
}

// adding is one set that is being added.
type adding struct {
	from     string
	known    *known
	files    map[string]*described // by the paths that they get
	declared map[string]*described // where a full name is declared in the set
	order    []*described
	lacked   map[string]bool // all of lacking
	room     int             // of maxNames

	linked  []string // full names that are linked and were described in another way
	other   []string // full names that were described in another way before
	lacking []string // imports that are missing, and needed
	wrong   []string // what cannot be used
}

// described is a file of the set, as it is to be built.
type described struct {
	said  *descriptorpb.FileDescriptorProto
	use   *descriptorpb.FileDescriptorProto // without what is left out
	needs map[string]bool                   // full names that it refers to
	state int
}

const (
	untouched = iota
	underway
	done
)

// file takes a file of the set, without what it need not have: services,
// extensions and defaults say nothing of what is in a message.
func (a *adding) file(f *descriptorpb.FileDescriptorProto) {
	path := f.GetName()
	if before := a.known.said[path]; before != nil && proto.Equal(before, f) {
		return
	}
	d := &described{said: f, needs: make(map[string]bool), use: &descriptorpb.FileDescriptorProto{
		Name: f.Name, Package: f.Package, Syntax: f.Syntax, Edition: f.Edition, Options: f.Options,
	}}
	scope := ""
	if f.GetPackage() != "" {
		scope = f.GetPackage() + "."
	}
	for _, e := range f.EnumType {
		if a.enum(scope, e); a.room < 0 {
			return
		}
		if name := scope + e.GetName(); !a.taken(d, name, func(l protoreflect.Descriptor) bool { return sameEnum(l, e) }) {
			a.declared[name] = d
			d.use.EnumType = append(d.use.EnumType, plainEnum(e))
		}
	}
	for _, m := range f.MessageType {
		if a.message(scope, m); a.room < 0 {
			return
		}
		name := scope + m.GetName()
		if a.taken(d, name, func(l protoreflect.Descriptor) bool { return sameMessage(l, m) }) || a.hides(d, name, m) {
			continue
		}
		plain, err := a.plain(d, name, m)
		if err != nil {
			a.wrong = append(a.wrong, err.Error())
			continue
		}
		d.use.MessageType = append(d.use.MessageType, plain)
	}
	if len(d.use.MessageType)+len(d.use.EnumType) == 0 {
		return // there is nothing that is not known
	}
	for n := len(a.order); a.known.has(d.use.GetName()) || a.files[d.use.GetName()] != nil; n++ { // with other declarations
		d.use.Name = proto.String(fmt.Sprintf("%s (%d)", path, n))
	}
	a.files[d.use.GetName()], a.order = d, append(a.order, d)
}

// message, and enum, take the room of the full names in a declaration, each of which
// is a text of its own in memory.
func (a *adding) message(scope string, m *descriptorpb.DescriptorProto) {
	a.room -= len(scope) + len(m.GetName())
	if a.room < 0 {
		return
	}
	scope += m.GetName() + "."
	for _, f := range m.Field {
		a.room -= len(scope) + len(f.GetName())
	}
	for _, o := range m.OneofDecl {
		a.room -= len(scope) + len(o.GetName())
	}
	for _, e := range m.EnumType {
		a.enum(scope, e)
	}
	for _, n := range m.NestedType {
		a.message(scope, n)
	}
}

func (a *adding) enum(scope string, e *descriptorpb.EnumDescriptorProto) {
	a.room -= len(scope) + len(e.GetName())
	for _, v := range e.Value {
		a.room -= len(scope) + len(v.GetName())
	}
}

// ours is the linked declaration of this name, if that counts whatever is described.
func ours(name string) protoreflect.Descriptor {
	root, _, _ := strings.Cut(name, ".")
	if !slices.Contains([]string{"envoy", "xds", "udpa", "google"}, root) {
		return nil
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	return d
}

// taken says whether a name is declared elsewhere, which then is what counts.
func (a *adding) taken(d *described, name string, same func(protoreflect.Descriptor) bool) bool {
	if linked := ours(name); linked != nil {
		if !same(linked) && !strings.HasPrefix(name, "google.protobuf.") { // which differ from release to release
			a.linked = append(a.linked, name)
		}
		return true
	}
	if before := a.known.all[protoreflect.FullName(name)]; before != nil {
		if !same(before) {
			a.other = append(a.other, name)
		}
		return true
	}
	if a.declared[name] != nil {
		a.wrong = append(a.wrong, fmt.Sprintf("%q declares %s, which another file of it does, too", d.said.GetName(), name))
		return true
	}
	return false
}

// hides says whether something within a message has the name of a linked type.
func (a *adding) hides(d *described, name string, m *descriptorpb.DescriptorProto) bool {
	for _, n := range m.NestedType {
		sub := name + "." + n.GetName()
		if ours(sub) != nil {
			a.linked = append(a.linked, sub)
			return true
		}
		if a.hides(d, sub, n) {
			return true
		}
	}
	return false
}

// plain is a message with its fields, and what is declared in it.
func (a *adding) plain(d *described, name string, m *descriptorpb.DescriptorProto) (*descriptorpb.DescriptorProto, error) {
	out := &descriptorpb.DescriptorProto{Name: m.Name, OneofDecl: m.OneofDecl, Options: m.Options}
	for _, f := range m.Field {
		if f.Type == nil {
			return nil, fmt.Errorf("%s.%s has no type", name, f.GetName())
		}
		f = proto.CloneOf(f)
		f.DefaultValue, f.Extendee = nil, nil
		if ref := f.GetTypeName(); ref != "" {
			if ref[0] != '.' {
				return nil, fmt.Errorf("%s.%s names its type without a package", name, f.GetName())
			}
			d.needs[ref[1:]] = true
		}
		out.Field = append(out.Field, f)
	}
	for _, e := range m.EnumType {
		a.declared[name+"."+e.GetName()] = d
		out.EnumType = append(out.EnumType, plainEnum(e))
	}
	for _, n := range m.NestedType {
		sub, err := a.plain(d, name+"."+n.GetName(), n)
		if err != nil {
			return nil, err
		}
		out.NestedType = append(out.NestedType, sub)
	}
	a.declared[name] = d
	return out, nil
}

func plainEnum(e *descriptorpb.EnumDescriptorProto) *descriptorpb.EnumDescriptorProto {
	return &descriptorpb.EnumDescriptorProto{Name: e.Name, Value: e.Value, Options: e.Options}
}

// build makes a file, after those that it needs. What a file needs is found by the
// names that it refers to, so that a missing import is missed only where something
// is of a type from it.
func (a *adding) build(d *described) {
	if d.state != untouched {
		return
	}
	d.state = underway
	defer func() { d.state = done }()
	imports, missing := make(map[string]bool), false
	for _, name := range slices.Sorted(maps.Keys(d.needs)) {
		switch in := a.declared[name]; {
		case in == d:
			continue
		case in != nil:
			if a.build(in); in.state == done {
				imports[in.use.GetName()] = true
			}
			continue
		}
		if there, err := a.known.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			imports[there.ParentFile().Path()] = true
		} else {
			missing = true
		}
	}
	d.use.Dependency = slices.Sorted(maps.Keys(imports))
	if missing {
		a.lack(d)
	}
	fd, err := newFile(d.use, a.known)
	if err != nil {
		a.wrong = append(a.wrong, fmt.Sprintf("%q cannot be used: %v", d.said.GetName(), err))
		return
	}
	a.known.take(fd, d.said)
}

// lack notes which imports of a file are missing.
func (a *adding) lack(d *described) {
	for _, path := range d.said.Dependency {
		_, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil && a.files[path] == nil && a.known.said[path] == nil && !a.lacked[path] {
			a.lacked[path], a.lacking = true, append(a.lacking, path)
		}
	}
	if len(a.lacking) == 0 {
		a.wrong = append(a.wrong, fmt.Sprintf("%q refers to a type that is declared nowhere", d.said.GetName()))
	}
}

// newFile makes a file. What the library cannot bear in a set from elsewhere must
// not end the program.
func newFile(f *descriptorpb.FileDescriptorProto, r protodesc.Resolver) (fd protoreflect.FileDescriptor, err error) {
	defer func() {
		if recover() != nil {
			fd, err = nil, errors.New("it makes no sense")
		}
	}()
	return protodesc.FileOptions{AllowUnresolvable: true}.New(f, r)
}
