package schema

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

const module = "github.com/xdsproxy/xdsproxy"

// inference makes a schema of a type as encoding/json writes it. A schema is open:
// an object may have members that it does not name, since members are added.
type inference struct {
	t     *testing.T
	defs  map[string]*jsonschema.Schema
	names map[reflect.Type]string
	docs  map[string]map[string]string // of a package: Type.Field and Type, and what is said of them
}

func infer(t *testing.T, title string, of any) *jsonschema.Schema {
	t.Helper()
	g := &inference{t: t, defs: map[string]*jsonschema.Schema{}, names: map[reflect.Type]string{}, docs: map[string]map[string]string{}}
	typ := reflect.TypeOf(of)
	s := g.object(typ)
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", title
	s.Description = g.said(typ, "")
	if len(g.defs) > 0 {
		s.Defs = g.defs
	}
	return s
}

func (g *inference) of(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &jsonschema.Schema{Type: "integer", Minimum: new(float64)}
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	case reflect.Slice, reflect.Array:
		return &jsonschema.Schema{Type: "array", Items: g.of(t.Elem())}
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: g.of(t.Elem())}
	case reflect.Interface:
		return &jsonschema.Schema{}
	case reflect.Struct:
		return g.ref(t)
	}
	g.t.Fatalf("%v has no form in JSON", t)
	return nil
}

// ref is a reference to the definition of a struct, which is made the first time.
func (g *inference) ref(t reflect.Type) *jsonschema.Schema {
	name, known := g.names[t]
	if !known {
		if name = strings.TrimSuffix(t.Name(), "JSON"); name == "" {
			return g.object(t)
		}
		if _, taken := g.defs[name]; taken {
			name = strings.ToUpper(filepath.Base(t.PkgPath())[:1]) + filepath.Base(t.PkgPath())[1:] + name
		}
		g.names[t] = name
		g.defs[name] = nil // for the name; the type may refer to itself
		s := g.object(t)
		s.Description = g.said(t, "")
		g.defs[name] = s
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

func (g *inference) object(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	g.members(s, t, true, nil)
	return s
}

// members adds those of a struct; of an embedded one that may be nil none is required,
// and those that the struct around it has itself, hidden, are left out.
func (g *inference) members(s *jsonschema.Schema, t reflect.Type, required bool, hidden []string) {
	own := slices.Clone(hidden)
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			own = append(own, name)
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if f.Anonymous && name == "" {
			in := f.Type
			optional := false
			if in.Kind() == reflect.Pointer {
				in, optional = in.Elem(), canBeNil[in.Elem()]
			}
			g.members(s, in, required && !optional, own)
			continue
		}
		if name == "-" || !f.IsExported() || slices.Contains(hidden, name) {
			continue
		}
		if !tagged {
			g.t.Fatalf("%v.%s is printed, and nobody says as what", t, f.Name)
		}
		p := g.of(f.Type)
		switch {
		case name == "schema":
			p = &jsonschema.Schema{Const: new(any)}
			*p.Const = "xdsproxy/v1"
		case closed[t.Name()+"."+name] != nil:
			p.Enum = closed[t.Name()+"."+name]
		}
		if omitted := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"); !omitted {
			if required {
				s.Required = append(s.Required, name)
			}
			if f.Type.Kind() == reflect.Pointer && p.Type != "" {
				p.Types, p.Type = []string{p.Type, "null"}, ""
			}
		}
		if p.Ref == "" {
			p.Description = g.said(t, f.Name)
			if rest, ok := strings.CutPrefix(p.Description, f.Name+" "); ok { // a name of Go tells a reader of JSON nothing
				p.Description = name + " " + rest
			}
		}
		s.Properties[name] = p
		s.PropertyOrder = append(s.PropertyOrder, name)
	}
}

// said is what the source says of a type, or of a field: in the text before it, or
// behind it on its line.
func (g *inference) said(t reflect.Type, field string) string {
	dir, ours := strings.CutPrefix(t.PkgPath(), module+"/")
	if !ours || t.Name() == "" {
		return ""
	}
	docs, read := g.docs[dir]
	if !read {
		docs = map[string]string{}
		g.docs[dir] = docs
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil {
			g.t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				g.t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				gen, ok := n.(*ast.GenDecl)
				if !ok {
					return true
				}
				for _, spec := range gen.Specs {
					if of, ok := spec.(*ast.TypeSpec); ok {
						note(docs, gen, of)
					}
				}
				return true
			})
		}
	}
	return docs[strings.TrimSuffix(t.Name()+"."+field, ".")]
}

func note(docs map[string]string, gen *ast.GenDecl, of *ast.TypeSpec) {
	one := func(groups ...*ast.CommentGroup) string {
		for _, g := range groups {
			if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
				return text
			}
		}
		return ""
	}
	doc := of.Doc
	if doc == nil && len(gen.Specs) == 1 {
		doc = gen.Doc
	}
	docs[of.Name.Name] = one(doc)
	if s, ok := of.Type.(*ast.StructType); ok {
		for _, f := range s.Fields.List {
			for _, name := range f.Names {
				docs[of.Name.Name+"."+name.Name] = one(f.Doc, f.Comment)
			}
		}
	}
}
