// Package internal_test guards the shape of the module: who may import whom.
package internal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/gobuild"
)

const module = "github.com/xdsproxy/xdsproxy"

// allowed lists, for each room, the packages of this module that its non-test
// code may import. A package below a room that has no row of its own is of that
// room. A package of no room may not exist: say here, in one line, where it
// stands before you create it.
var allowed = map[string][]string{
	"internal":                {},
	"session":                 {},
	"internal/nearest":        {},
	"internal/xds":            {"session"}, // for Side
	"internal/protoscan":      {},
	"internal/unmarshal":      {},
	"internal/recent":         {},
	"internal/clip":           {},
	"internal/lenient":        {"internal/clip"},
	"internal/protofile":      {"decode"},
	"internal/bounded":        {},
	"internal/notes":          {"session"},
	"internal/pushes":         {"session", "internal/xds", "internal/protoscan", "internal/recent", "internal/engine", "decode"},
	"internal/fold":           {"session", "internal/xds", "internal/recent", "internal/engine"},
	"internal/wire":           {"session"},
	"proxy":                   {"internal/clip", "session", "internal/wire"},
	"recorder":                {"session", "internal/protoscan", "internal/heap"},
	"decode":                  {"internal/clip", "session", "internal/xds", "internal/protoscan", "internal/unmarshal", "internal/recent", "internal/lenient"},
	"internal/engine":         {"internal/clip", "session", "internal/xds", "internal/recent", "decode"},
	"check":                   {"internal/clip", "session", "internal/xds", "internal/protoscan", "internal/nearest", "internal/recent", "internal/engine", "internal/effect", "decode"},
	"internal/effect":         {"session", "internal/xds", "internal/protoscan", "internal/engine", "internal/configdump", "decode"},
	"internal/shortname":      {},
	"internal/objects":        {}, // stores of objects; not what is in them
	"internal/render":         {"session", "internal/xds", "internal/effect", "internal/engine", "internal/engine/history", "internal/configdump", "internal/shortname", "decode", "check"},
	"internal/trigger":        {"session", "internal/nearest", "internal/recent", "check"},
	"internal/dump":           {"session", "recorder", "check", "internal/store", "internal/convert", "internal/report", "internal/trigger"},
	"internal/files":          {"session", "internal/xds", "decode"},
	"internal/app":            {"internal/archive", "internal/objects", "internal/files", "internal/bootstrap", "session", "internal/heap", "internal/held", "internal/trigger", "internal/dump", "internal/build", "internal/console", "internal/settings", "internal/store", "internal/input", "internal/serve", "internal/admin", "internal/csds", "proxy", "recorder", "internal/engine", "decode", "check", "internal/render", "tui"},
	"internal/wrap":           {"internal/held", "internal/console", "internal/bootstrap", "internal/render", "proxy", "replay"},
	"internal/archive":        {"internal/objects", "recorder"},
	"internal/settings":       {"session", "internal/objects", "internal/console", "internal/nearest", "internal/lenient", "internal/engine", "proxy", "decode", "check", "internal/trigger", "internal/held", "internal/protofile", "internal/render", "internal/serve", "tui/widget"},
	"internal/console":        {"internal/clip", "internal/render", "proxy"}, // for the hints of rewrite
	"internal/build":          {"internal/render"},                           // for the name of the schema
	"internal/heap":           {},
	"internal/fleet":          {"internal/clip", "session", "recorder", "internal/objects"},
	"internal/store":          {"session", "internal/xds", "recorder", "decode", "check"},
	"internal/input":          {"internal/render/facts", "session", "proxy", "internal/notes", "internal/build", "internal/console", "internal/store", "internal/engine", "recorder", "decode", "check", "internal/render", "internal/serve", "internal/fleet", "internal/objects"},
	"internal/export":         {"session", "internal/nearest", "internal/notes", "internal/build", "internal/console", "internal/heap", "internal/store", "internal/input", "recorder", "decode", "check", "internal/render", "internal/engine", "internal/convert", "internal/convert/columns", "internal/fleet", "internal/configdump", "internal/report", "internal/pseudonym", "replay"},
	"internal/across":         {"internal/render/facts", "session", "internal/console", "internal/fleet", "internal/input", "recorder", "check", "internal/render"},
	"internal/playback":       {"internal/clip", "session", "internal/xds", "internal/nearest", "proxy", "internal/build", "internal/console", "internal/store", "internal/input", "internal/configdump", "internal/compare", "internal/export", "internal/engine", "recorder", "check", "internal/render", "replay", "replay/server", "replay/client", "replay/bisect", "replay/fault", "replay/shadow"},
	"internal/mcp":            {"internal/nearest", "internal/console", "internal/render"},
	"internal/compare":        {"session", "internal/nearest", "internal/recent", "internal/console", "internal/heap", "internal/input", "internal/engine", "internal/engine/history", "internal/configdump", "decode", "check", "internal/render"},
	"internal/convert":        {"session", "internal/xds", "internal/notes", "internal/configdump", "internal/held", "internal/engine", "internal/engine/history", "recorder", "decode", "check", "internal/wire", "internal/render", "internal/protoscan", "internal/lenient"},
	"internal/engine/history": {"session", "internal/engine", "decode"},
	// It keeps no account: what entries mean it is told.
	"internal/convert/columns": {"session", "internal/xds", "internal/recent", "internal/engine", "recorder", "decode", "check"},
	"internal/report":          {"session", "internal/xds", "internal/engine", "recorder", "decode", "check", "internal/render", "internal/convert"},
	"internal/pseudonym":       {"session", "internal/xds", "internal/protoscan", "decode"},
	"internal/serve":           {"session", "internal/bounded", "recorder"},
	"internal/admin":           {"session", "internal/xds", "internal/bounded", "internal/engine", "recorder", "check"},
	"internal/csds":            {"session", "internal/xds", "internal/protoscan", "internal/engine", "internal/serve", "decode", "check"},
	"replay":                   {"internal/clip", "session", "internal/xds", "internal/protoscan", "internal/unmarshal", "internal/engine", "recorder", "decode", "internal/bootstrap", "internal/lenient", "replay/fault"},
	"replay/server":            {"session", "internal/xds", "decode", "replay", "replay/fault"},
	"replay/client":            {"session", "internal/xds", "decode", "replay", "replay/fault"},
	"replay/bisect":            {"session", "internal/xds", "internal/engine", "recorder", "decode", "replay"},
	"replay/replaytest":        {"session", "internal/wire", "internal/golden", "internal/engine", "recorder", "check", "decode", "replay", "replay/server", "replay/client", "replay/fault"}, // for tests
	"replay/fault":             {"session", "internal/nearest", "internal/engine"},
	"replay/shadow":            {"internal/clip", "session", "internal/xds", "internal/protoscan", "internal/recent", "internal/engine", "decode", "replay"},
	"tui/key":                  {},
	"tui/chosen":               {},
	"tui/widget":               {"internal/shortname", "internal/render", "tui/key"}, // no xDS, no screen
	"tui/alias":                {"internal/xds", "internal/engine", "check", "internal/render", "tui/widget"},
	"tui/index":                {"internal/clip", "internal/fold", "internal/pushes", "session", "internal/xds", "internal/recent", "internal/effect", "internal/engine", "recorder", "decode", "check", "internal/render"},
	"tui/source":               {"session", "internal/engine", "internal/notes", "recorder", "check", "tui/alias", "tui/index"},
	"tui/view":                 {"session", "internal/effect", "internal/engine", "check", "internal/shortname", "internal/render", "tui/chosen", "tui/key", "tui/widget", "tui/alias", "tui/index", "tui/source"},
	"tui/marks":                {"session", "internal/notes", "internal/render", "tui/index"},
	"tui/prompt":               {"check", "internal/render", "tui/view", "tui/widget"},
	"tui/command":              {"session", "internal/nearest", "check", "internal/render", "tui/index", "tui/prompt"},
	"tui/view/clients":         {"internal/xds", "internal/engine", "internal/render", "tui/chosen", "tui/key", "tui/widget", "tui/index", "tui/view"},
	"tui/terminal":             {},
	"tui/palette":              {"internal/render", "tui/key", "tui/widget"},
	"tui/view/compare":         {"session", "internal/engine/history", "decode", "check", "internal/render", "tui/key", "tui/widget", "tui/index", "tui/view"},
	"tui/view/detail":          {"session", "internal/engine", "decode", "check", "internal/render", "tui/key", "tui/widget", "tui/index", "tui/view", "tui/view/compare"},
	"tui/view/findings":        {"session", "check", "internal/shortname", "internal/render", "tui/chosen", "tui/key", "tui/widget", "tui/index", "tui/view"},
	"tui/view/ladder":          {"session", "check", "internal/render", "tui/key", "tui/widget", "tui/index", "tui/view"},
	"tui/view/menu":            {"session", "internal/render", "internal/render/foreign", "tui/chosen", "tui/key", "tui/widget", "tui/index", "tui/source", "tui/view", "tui/view/detail"},
	"tui/view/page":            {"check", "internal/render", "tui/key", "tui/widget", "tui/source", "tui/view"},
	"tui/view/pushes":          {"session", "internal/pushes", "internal/render", "internal/render/push", "tui/key", "tui/widget", "tui/view"},
	"tui/view/resources":       {"session", "internal/xds", "internal/effect", "internal/engine", "internal/shortname", "internal/render", "tui/chosen", "tui/key", "tui/widget", "tui/view"},
	"tui/view/stats":           {"internal/engine", "recorder", "internal/render", "tui/key", "tui/widget", "tui/index", "tui/source", "tui/view"},
	"tui/view/timeline":        {"session", "internal/xds", "internal/engine", "check", "internal/render", "tui/chosen", "tui/key", "tui/widget", "tui/index", "tui/view"},
	"tui/view/viewtest":        {"session", "recorder", "decode", "check", "tui/chosen", "tui/key", "tui/widget", "tui/alias", "tui/index", "tui/source", "tui/view"}, // for tests
	"tui":                      {"session", "internal/engine", "recorder", "check", "internal/render", "tui/chosen", "tui/key", "tui/widget", "tui/alias", "tui/index", "tui/marks", "tui/source", "tui/prompt", "tui/command", "tui/palette", "tui/terminal", "tui/view", "tui/view/clients", "tui/view/compare", "tui/view/detail", "tui/view/findings", "tui/view/ladder", "tui/view/menu", "tui/view/page", "tui/view/pushes", "tui/view/resources", "tui/view/stats", "tui/view/timeline"},
	"internal/xdstest":         {"session", "decode"},
	"internal/golden":          {}, // for tests
	"internal/gobuild":         {}, // for tests
	"internal/e2e":             {}, // tests only
	"internal/schema":          {}, // tests only
	"internal/agree":           {}, // tests only
	"internal/mutant":          {}, // for tests; it knows the format by itself
	"internal/bait":            {}, // for tests
	"cmd/xdsproxy": {
		"internal/pushes", "internal/render/push", "internal/render/foreign",
		"internal/across", "internal/fleet", "internal/app", "internal/settings", "internal/wrap", "internal/mcp", "internal/notes", "internal/fold",
		"session", "internal/xds", "internal/engine", "proxy", "internal/build", "internal/compare", "internal/console", "internal/export", "internal/heap", "internal/input", "internal/playback", "recorder", "decode", "check", "internal/render",
		"internal/nearest", "internal/bootstrap", "internal/serve", "internal/csds", "replay", "tui", "tui/chosen", "internal/xdstest", "replay/fault", "internal/pseudonym",
	},
	"deploy":                    {},         // manifests, and what the plugin prints of them
	"cmd/kubectl-xds":           {"deploy"}, // runs kubectl and xdsproxy as commands; links neither
	"internal/bootstrap":        {"internal/lenient"},
	"internal/held":             {"internal/clip", "session", "internal/xds", "internal/protoscan", "internal/configdump"},
	"internal/configdump":       {"internal/clip", "internal/xds", "internal/lenient", "internal/unmarshal", "internal/engine", "decode"},
	"internal/render/foreign":   {"internal/xds", "decode", "check", "internal/render"},
	"internal/render/facts":     {"internal/render"},
	"internal/xdstest/heard":    {}, // for tests
	"internal/xdstest/terminal": {}, // for tests
	"internal/render/push":      {"internal/pushes", "internal/render", "internal/shortname"},
}

// decodeRooms lists what the rooms of decode, which others take for one, may
// import of each other.
var decodeRooms = map[string][]string{
	"decode":              {"decode/descriptors", "decode/document"},
	"decode/descriptors":  {},
	"decode/document":     {"decode/descriptors"},
	"decode/chunk":        {"decode"},
	"decode/mask/secrets": {},
	"decode/mask":         {"decode", "decode/chunk", "decode/mask/secrets"},
	"decode/mask/table":   {"decode/types"}, // a program that makes the table
	"decode/constraints":  {},
	"decode/inspect":      {"decode/constraints", "decode/descriptors", "decode/mask", "decode/origin"},
	"decode/origin":       {},
	"decode/diff":         {"decode/descriptors", "decode/document"},
	"decode/file":         {},
	"decode/synth":        {"decode"},
	"decode/types":        {},
	"decode/types/gen":    {},
	"decode/handmade":     {}, // for tests
}

// thirdParty lists who may name which modules from outside. The keys are
// import path prefixes. A module that is missing here may be named by anyone
// who has a reason; these have a price, in size, start-up time or meaning.
var thirdParty = map[string][]string{
	"github.com/envoyproxy/":           {"decode", "internal/csds", "internal/xdstest"},
	"github.com/cncf/xds/":             {"decode"},
	"google.golang.org/grpc":           {"internal/held", "replay", "replay/server", "replay/client", "replay/bisect", "replay/shadow", "replay/replaytest", "internal/serve", "internal/csds", "internal/xdstest", "cmd/xdsproxy"},
	"google.golang.org/grpc/binarylog": {"internal/convert"},
	"github.com/bufbuild/protocompile": {"internal/protofile"},
	"google.golang.org/protobuf":       {"internal/protofile", "internal/protoscan", "internal/unmarshal", "internal/lenient", "internal/bootstrap", "internal/configdump", "decode", "check", "recorder", "replay", "replay/client", "replay/bisect", "internal/serve", "internal/xdstest", "internal/convert", "internal/mutant", "replay/shadow", "internal/pseudonym", "internal/held", "internal/csds"},
	"charm.land/":                      {"tui", "tui/prompt", "tui/command", "tui/palette", "tui/terminal", "tui/view", "tui/view/clients", "tui/view/compare", "tui/view/detail", "tui/view/findings", "tui/view/ladder", "tui/view/menu", "tui/view/page", "tui/view/pushes", "tui/view/resources", "tui/view/stats", "tui/view/timeline", "tui/view/viewtest"},
	"github.com/charmbracelet/":        {"tui/terminal"},
	"github.com/spf13/cobra":           {"cmd/xdsproxy"},
	"github.com/modelcontextprotocol/": {"internal/mcp"},
	"github.com/fsnotify/fsnotify":     {"internal/files"},
	"github.com/minio/":                {"internal/objects"},
	"gopkg.in/ini.v1":                  {"internal/objects"},
	"go.yaml.in/yaml/v3":               {"internal/lenient", "internal/bootstrap", "internal/convert", "internal/settings"},
	"go.uber.org/zap":                  {"internal/playback", "proxy", "recorder", "internal/serve", "internal/admin", "internal/csds", "internal/app", "cmd/xdsproxy"},
	"github.com/prometheus/":           {"internal/admin"},
	"github.com/klauspost/compress":    {"recorder", "internal/mutant"},
	"golang.org/x/net/http2/hpack":     {"internal/wire", "proxy", "internal/convert"},
	"github.com/gopacket/gopacket":     {"internal/convert"},
	"github.com/parquet-go/":           {"internal/convert/columns"},
	"github.com/rogpeppe/go-internal":  {}, // tests only
	"github.com/chromedp/":             {}, // tests only
	"github.com/google/go-cmp":         {}, // tests only
	"github.com/google/jsonschema-go":  {}, // tests only; the SDK of internal/mcp has it, too
	"go.uber.org/goleak":               {}, // tests only
	"golang.org/x/net/http2":           {}, // hpack alone: see below
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func TestImports(t *testing.T) {
	needed := map[[2]string]bool{} // who imports what, by owners, rooms of decode, and modules from outside
	there := map[string]bool{}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		there[name] = true
		// Programs that measure are outside the house: nothing imports them.
		if strings.HasPrefix(name, "internal/bench/") {
			continue
		}
		may, known := allowed[ownerOf(name)]
		if !known {
			t.Errorf("package %s has no row in the table of allowed imports", name)
			continue
		}
		for _, imp := range p.Imports {
			if in, ok := strings.CutPrefix(imp, module+"/"); ok {
				needed[[2]string{ownerOf(name), ownerOf(in)}] = true
				needed[[2]string{name, in}] = true
				if ownerOf(name) == "decode" && ownerOf(in) == "decode" && !slices.Contains(decodeRooms[name], in) {
					t.Errorf("%s imports %s; of decode it may import %v", name, in, decodeRooms[name])
				}
				if ownerOf(in) != ownerOf(name) && !slices.Contains(may, ownerOf(in)) {
					t.Errorf("%s imports %s; it may import %v", name, in, may)
				}
				continue
			}
			if imp == "golang.org/x/net/http2" {
				t.Errorf("%s imports golang.org/x/net/http2; only its hpack is used", name)
			}
			if prefix := longestPrefix(imp); prefix != "" {
				needed[[2]string{ownerOf(name), prefix}] = true
				if !slices.Contains(thirdParty[prefix], ownerOf(name)) {
					t.Errorf("%s imports %s; only %v may", name, imp, thirdParty[prefix])
				}
			}
		}
	}
	for _, table := range []map[string][]string{allowed, decodeRooms} {
		for name, may := range table {
			if !there[name] {
				t.Errorf("%s has a row, and there is no such package", name)
			}
			for _, in := range may {
				if !needed[[2]string{name, in}] {
					t.Errorf("%s may import %s, and does not", name, in)
				}
			}
		}
	}
	for prefix, who := range thirdParty {
		for _, name := range who {
			if !needed[[2]string{name, prefix}] {
				t.Errorf("%s may import %s, and does not", name, prefix)
			}
		}
	}
}

// ownerOf maps a package to its row: decode/registry belongs to decode.
func ownerOf(name string) string {
	for n := name; ; {
		if _, ok := allowed[n]; ok && n != "internal" {
			return n
		}
		i := strings.LastIndexByte(n, '/')
		if i < 0 {
			return name
		}
		n = n[:i]
	}
}

func longestPrefix(imp string) string {
	best := ""
	for p := range thirdParty {
		if (imp == p || strings.HasPrefix(imp, strings.TrimSuffix(p, "/")+"/")) && len(p) > len(best) {
			best = p
		}
	}
	return best
}

// listPackages gives all packages of the module, with what their files for any of the
// systems import.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	if _, err := gobuild.Open("", module+"/..."); err != nil {
		t.Fatal(err)
	}
	var pkgs []goPackage
	at := map[string]int{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Error", module+"/...")
		cmd.Env = append(os.Environ(), "GOOS="+system)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for dec := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				goPackage
				Error *struct{ Err string }
			}
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Error != nil {
				t.Errorf("%s on %s: %s", p.ImportPath, system, p.Error.Err)
			}
			i, known := at[p.ImportPath]
			if !known {
				i = len(pkgs)
				at[p.ImportPath] = i
				pkgs = append(pkgs, goPackage{ImportPath: p.ImportPath})
			}
			for _, imp := range p.Imports {
				if !slices.Contains(pkgs[i].Imports, imp) {
					pkgs[i].Imports = append(pkgs[i].Imports, imp)
				}
			}
		}
	}
	return pkgs
}
