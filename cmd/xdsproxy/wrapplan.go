package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
)

// The variables by which gRPC finds its bootstrap: a file, or its content. The
// first wins.
const (
	grpcBootstrap       = "GRPC_XDS_BOOTSTRAP"
	grpcBootstrapConfig = "GRPC_XDS_BOOTSTRAP_CONFIG"
)

// Exit codes of a command that does not come to run, as shells have them.
const (
	exitCannotRun = 126
	exitNoCommand = 127
)

// placeholder stands in a command for the path of the bootstrap.
const placeholder = "{}"

// plan is a command, and the bootstrap that it is to be given.
type plan struct {
	doc  *bootstrap.Document
	name string   // of the bootstrap, for people
	base string   // of the file that the copy becomes
	argv []string // with placeholders until the copy is written
	env  []string // nil: as it is
}

// plan finds the bootstrap of a command. Nothing has been started yet.
func (a *app) plan(file string, args []string) (*plan, error) {
	if len(args) == 0 {
		return nil, misused("no command to run").hint("xdsproxy wrap envoy -c envoy.yaml")
	}
	switch _, err := exec.LookPath(args[0]); {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return nil, notRunnable(args[0], "no such command", exitNoCommand)
	case err != nil:
		return nil, notRunnable(args[0], causeOf(err).Error(), exitCannotRun)
	}
	p := &plan{argv: slices.Clone(args)}
	err := p.find(file)
	if err != nil {
		return nil, err
	}
	if p.doc.Kind == bootstrap.GRPC {
		p.env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
			return strings.HasPrefix(kv, grpcBootstrap+"=") || strings.HasPrefix(kv, grpcBootstrapConfig+"=")
		})
		return p, nil
	}
	for _, arg := range args {
		if arg == "--config-yaml" || strings.HasPrefix(arg, "--config-yaml=") {
			a.warn("the command has --config-yaml, which Envoy puts over its bootstrap; servers that it names are not wrapped")
		}
	}
	return p, nil
}

func notRunnable(command, why string, code int) *failure {
	f := failed("cannot run %q: %s", command, why)
	f.code = code
	return f
}

// causeOf is what lies beneath the name of a command in an error.
func causeOf(err error) error {
	if inner, ok := errors.AsType[*exec.Error](err); ok {
		err = inner.Err
	}
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return err
}

// find reads the bootstrap: the file that was named, else the one that the
// command names, else the one of the environment.
func (p *plan) find(file string) error {
	if file != "" {
		if err := p.read(file); err != nil {
			return err
		}
		if p.doc.Kind == bootstrap.Envoy && !slices.ContainsFunc(p.argv[1:], takesPath) {
			return misused("--bootstrap %s, but no {} in the command: where does Envoy read it?", file).
				hint("%s", properForm(file, p.argv))
		}
		return nil
	}
	found, broken := p.findArgument()
	if found {
		return nil
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
	return misused("no bootstrap: the command has no -c FILE that is one of Envoy, and %s is not set", grpcBootstrap).
		hint("name it: xdsproxy wrap --bootstrap FILE -- COMMAND ... {}")
}

// findArgument looks for -c FILE in the command, and puts the placeholder there.
// The error says why a FILE that looks like what was meant is not it; for many
// programs -c has another meaning.
func (p *plan) findArgument() (found bool, broken error) {
	for i := 1; i < len(p.argv); i++ {
		file, ok := strings.CutPrefix(p.argv[i], "--config-path=")
		replaced := "--config-path=" + placeholder
		if !ok {
			if before := p.argv[i-1]; before != "-c" && before != "--config-path" {
				continue
			}
			file, replaced = p.argv[i], placeholder
		}
		_, absent := os.Stat(file)
		if absent != nil && !strings.Contains(filepath.Base(p.argv[0]), "envoy") {
			continue
		}
		err := p.read(file)
		switch {
		case err == nil && p.doc.Kind == bootstrap.Envoy:
			p.argv[i] = replaced
			return true, nil
		case broken == nil && !errors.Is(err, bootstrap.ErrUnknown):
			broken = err
		}
	}
	return false, broken
}

func (p *plan) read(file string) error {
	text, err := readBootstrap(file)
	if err != nil {
		return failed("cannot read the bootstrap: %w", err)
	}
	return p.parse(file, filepath.Base(file), text)
}

// readBootstrap reads a bootstrap, or a file that one refers to, but no more of
// it than is looked at.
func readBootstrap(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, bootstrap.MaxSize+1))
}

func (p *plan) parse(name, base string, text []byte) error {
	doc, err := bootstrap.Parse(base, text, readBootstrap)
	if err != nil {
		return failed("bootstrap %s: %w", name, err)
	}
	p.doc, p.name, p.base = doc, "bootstrap "+name, base
	return nil
}

// takesPath says whether an argument has the placeholder: alone, or as the value
// of a flag. {} within other text is left alone, for it may be JSON.
func takesPath(arg string) bool {
	return arg == placeholder || strings.HasPrefix(arg, "-") && strings.HasSuffix(arg, "="+placeholder)
}

// properForm is how the command would be right.
func properForm(file string, argv []string) string {
	words := []string{"xdsproxy", "wrap", "--bootstrap", shellWord(file), "--"}
	placed := false
	for i, arg := range argv {
		switch {
		case i > 0 && (argv[i-1] == "-c" || argv[i-1] == "--config-path"):
			words, placed = append(words, placeholder), true
		default:
			words = append(words, shellWord(arg))
		}
	}
	if !placed {
		words = append(words, "-c", placeholder)
	}
	return strings.Join(words, " ")
}

// write puts the copy into dir, and its path where the command looks for it.
func (p *plan) write(dir string) error {
	text, err := p.doc.Bytes()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, p.base)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("cannot write the copy: %w", err)
	}
	for i, arg := range p.argv {
		if i > 0 && takesPath(arg) {
			p.argv[i] = strings.TrimSuffix(arg, placeholder) + path
		}
	}
	if p.doc.Kind == bootstrap.GRPC {
		p.env = append(p.env, grpcBootstrap+"="+path)
	}
	return nil
}
