// Package wrap puts a proxy in front of the servers of a client that is a command:
// it finds the command's bootstrap, makes a copy that leads to the proxy, and runs
// the command in our place. It forwards and records nothing.
package wrap

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// The variables by which gRPC finds its bootstrap: a file, or its content. The
// first wins.
const (
	grpcBootstrap       = "GRPC_XDS_BOOTSTRAP"
	grpcBootstrapConfig = "GRPC_XDS_BOOTSTRAP_CONFIG"
)

// Envoy's options for the path of its bootstrap, and for what goes over that, or
// is all of it.
const (
	configPath = "--config-path"
	configYAML = "--config-yaml"
)

// Plan is a command, and the bootstrap that it is to be given.
type Plan struct {
	con  *console.Console
	Doc  *bootstrap.Document
	text []byte   // of the bootstrap, as it was found
	Name string   // of the bootstrap, for people
	base string   // of the file that the copy becomes
	argv []string // with placeholders until the copy is written
	env  []string // nil: as it is
}

// Find finds the bootstrap of a command, or takes the one in file. Nothing has been
// started yet.
func Find(con *console.Console, file string, args []string) (*Plan, error) {
	if len(args) == 0 {
		return nil, console.Misused("no command to run").Hint("xdsproxy wrap envoy -c envoy.yaml")
	}
	err := console.Runnable(args[0])
	if err != nil {
		return nil, err
	}
	p := &Plan{con: con, argv: slices.Clone(args)}
	err = p.find(file)
	if err != nil {
		return nil, err
	}
	if p.Doc.Kind == bootstrap.GRPC {
		p.env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
			return strings.HasPrefix(kv, grpcBootstrap+"=") || strings.HasPrefix(kv, grpcBootstrapConfig+"=")
		})
		return p, nil
	}
	if at, n, over := p.overlay(); n > 0 {
		if err := p.merge(over); err != nil {
			con.Warn("the command has --config-yaml, which Envoy puts over its bootstrap, and which cannot be read together: %s; servers that it names are not wrapped", err)
			return p, nil
		}
		p.argv = slices.Delete(p.argv, at, at+n)
	}
	return p, nil
}

// overlay finds Envoy's --config-yaml in the command: how many arguments it
// takes there, none if it is not there, and its value.
func (p *Plan) overlay() (at, n int, over string) {
	for i, arg := range p.argv[1:] {
		if value, ok := strings.CutPrefix(arg, configYAML+"="); ok {
			return i + 1, 1, value
		}
		if arg == configYAML && i+2 < len(p.argv) {
			return i + 1, 2, p.argv[i+2]
		}
	}
	return 0, 0, ""
}

// merge makes one bootstrap of the one that was found and of what goes over it.
func (p *Plan) merge(over string) error {
	text, err := bootstrap.Merge(p.base, p.text, over)
	if err != nil {
		return err
	}
	return p.parse(strings.TrimPrefix(p.Name, "bootstrap ")+" with "+configYAML, "bootstrap.json", text)
}

// find reads the bootstrap: the file that was named, else the one that the
// command names, else the one of the environment.
func (p *Plan) find(file string) error {
	if file != "" {
		if err := p.read(file); err != nil {
			return err
		}
		if p.Doc.Kind == bootstrap.Envoy && !slices.ContainsFunc(p.argv[1:], bootstrap.TakesPath) {
			return console.Misused("--bootstrap %s, but no {} in the command: where does Envoy read it?", file).
				Hint("%s", properForm(file, p.argv))
		}
		return nil
	}
	found, broken := p.findArgument()
	if found {
		return nil
	}
	if at, n, whole := p.overlay(); n > 0 && !slices.ContainsFunc(p.argv, namesPath) {
		err := p.parse(configYAML, "bootstrap.yaml", []byte(whole))
		if err == nil {
			p.argv = slices.Replace(p.argv, at, at+n, "-c", bootstrap.Placeholder)
		}
		if !errors.Is(err, bootstrap.ErrUnknown) {
			return err
		}
	}
	if file := os.Getenv(grpcBootstrap); file != "" {
		return p.read(file)
	}
	if text := os.Getenv(grpcBootstrapConfig); text != "" {
		return p.parse(grpcBootstrapConfig, "bootstrap.json", []byte(text))
	}
	if broken != nil {
		return broken
	}
	if len(p.argv) > 2 && filepath.Base(p.argv[0]) == "consul" && p.argv[1] == "connect" && p.argv[2] == "envoy" {
		return console.Misused("consul connect envoy makes the bootstrap itself and gives it to Envoy, with nothing between").
			Hint("let it print the bootstrap, and wrap Envoy: %s", consulForm(p.argv))
	}
	return console.Misused("no bootstrap: the command has no -c FILE that is one of Envoy, and %s is not set", grpcBootstrap).
		Hint("name it: xdsproxy wrap --bootstrap FILE -- COMMAND ... {}")
}

// findArgument looks for -c FILE in the command, and puts the placeholder there.
// The error says why a FILE that looks like what was meant is not it; for many
// programs -c has another meaning.
func (p *Plan) findArgument() (found bool, broken error) {
	for i := 1; i < len(p.argv); i++ {
		file, ok := strings.CutPrefix(p.argv[i], configPath+"=")
		replaced := configPath + "=" + bootstrap.Placeholder
		if !ok {
			if before := p.argv[i-1]; before != "-c" && before != configPath {
				continue
			}
			file, replaced = p.argv[i], bootstrap.Placeholder
		}
		_, absent := os.Stat(file)
		if absent != nil && !strings.Contains(filepath.Base(p.argv[0]), "envoy") {
			continue
		}
		err := p.read(file)
		switch {
		case err == nil && p.Doc.Kind == bootstrap.Envoy:
			p.argv[i] = replaced
			return true, nil
		case broken == nil && !errors.Is(err, bootstrap.ErrUnknown):
			broken = err
		}
	}
	return false, broken
}

func (p *Plan) read(file string) error {
	text, err := ReadBootstrap(p.con, file)
	if err != nil {
		return console.Failed("cannot read the bootstrap: %w", err)
	}
	return p.parse(file, filepath.Base(file), text)
}

// ReadBootstrap reads a bootstrap, but no more of it than is looked at.
func ReadBootstrap(con *console.Console, file string) ([]byte, error) {
	return con.ReadFile(file, bootstrap.MaxSize)
}

// readReferred reads a file that a bootstrap refers to. Who wrote that may have
// named anything that can be opened; Envoy watches files.
func (p *Plan) readReferred(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", file)
	}
	if err != nil {
		return nil, err
	}
	return ReadBootstrap(p.con, file)
}

func (p *Plan) parse(name, base string, text []byte) error {
	doc, err := bootstrap.Parse(base, text, p.readReferred)
	if err != nil {
		return console.Failed("bootstrap %s: %w", name, err)
	}
	p.Doc, p.text, p.Name, p.base = doc, text, "bootstrap "+name, base
	return nil
}

func namesPath(arg string) bool { return arg == "-c" || strings.HasPrefix(arg, configPath) }

// consulForm is how consul connect envoy is wrapped. What stands behind -- is for
// Envoy.
func consulForm(argv []string) string {
	own, envoys := argv, []string(nil)
	if i := slices.Index(argv, "--"); i >= 0 {
		own, envoys = argv[:i], argv[i+1:]
	}
	var b strings.Builder
	for _, arg := range own {
		b.WriteString(console.ShellWord(arg) + " ")
	}
	b.WriteString("-bootstrap > envoy.json && xdsproxy wrap envoy -c envoy.json")
	for _, arg := range envoys {
		b.WriteString(" " + console.ShellWord(arg))
	}
	return b.String()
}

// properForm is how the command would be right.
func properForm(file string, argv []string) string {
	words := []string{"xdsproxy", "wrap", "--bootstrap", console.ShellWord(file), "--"}
	placed := false
	for i, arg := range argv {
		switch {
		case i > 0 && (argv[i-1] == "-c" || argv[i-1] == configPath):
			words, placed = append(words, bootstrap.Placeholder), true
		default:
			words = append(words, console.ShellWord(arg))
		}
	}
	if !placed {
		words = append(words, "-c", bootstrap.Placeholder)
	}
	return strings.Join(words, " ")
}

// Lead makes the bootstrap lead to where the proxy listens, and writes the copy.
func (p *Plan) Lead(servers []*bootstrap.Server, to []net.Addr, dir string) error {
	for i, addr := range to {
		if err := servers[i].Redirect(proxy.AddrOf(addr).String()); err != nil {
			return console.Failed("%s: %w", p.Name, err)
		}
	}
	if err := p.write(dir); err != nil {
		return console.Failed("%s: %w", p.Name, err)
	}
	return nil
}

// write puts the copy into dir, and its path where the command looks for it.
func (p *Plan) write(dir string) error {
	text, err := p.Doc.Bytes()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, p.base)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("cannot write the copy: %w", err)
	}
	bootstrap.Fill(p.argv, path)
	if p.Doc.Kind == bootstrap.GRPC {
		p.env = append(p.env, grpcBootstrap+"="+path)
	}
	return nil
}
