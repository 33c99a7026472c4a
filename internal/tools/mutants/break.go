package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is a package, and how it can be broken.
type pkg struct {
	path    string
	lines   int
	tested  bool
	mutants []mutant
}

// mutant is one operator in place of another.
type mutant struct {
	file, shown string
	at          token.Position
	from, to    string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d %s in place of %s", m.shown, m.at.Line, m.at.Column, m.to, m.from)
}

// text is the file with the mutant in it.
func (m mutant) text() ([]byte, error) {
	b, err := os.ReadFile(m.file)
	if err != nil {
		return nil, err
	}
	return append(append(append([]byte(nil), b[:m.at.Offset]...), m.to...), b[m.at.Offset+len(m.from):]...), nil
}

// list is the packages of a module that have code of their own. What a program wrote is left
// out.
func list(dir, which string) ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles", "./"+which)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var packages []pkg
	for r := json.NewDecoder(bufio.NewReader(out)); ; {
		var l struct {
			ImportPath, Dir                    string
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := r.Decode(&l); errors.Is(err, io.EOF) {
			return packages, cmd.Wait()
		} else if err != nil {
			return nil, errors.Join(err, cmd.Wait())
		}
		p := pkg{path: l.ImportPath, tested: len(l.TestGoFiles)+len(l.XTestGoFiles) > 0}
		for _, name := range l.GoFiles {
			file := filepath.Join(l.Dir, name)
			shown, err := filepath.Rel(dir, file)
			if err != nil {
				return nil, err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			mutants, err := mutantsOf(file, filepath.ToSlash(shown), text)
			if err != nil {
				return nil, err
			}
			if mutants != nil {
				p.lines += strings.Count(string(text), "\n")
				p.mutants = append(p.mutants, mutants...)
			}
		}
		if len(p.mutants) > 0 {
			packages = append(packages, p)
		}
	}
}

// instead is what stands in place of an operator: other arithmetic, a boundary that is moved,
// a condition that is negated, a count in the other direction.
var instead = map[token.Token][]token.Token{
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// mutantsOf is how a file can be broken, one operator at a time.
func mutantsOf(file, shown string, text []byte) ([]mutant, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.ParseComments)
	if err != nil || ast.IsGenerated(parsed) {
		return nil, err
	}
	var all []mutant
	swap := func(at token.Pos, from token.Token, to ...token.Token) {
		for _, t := range to {
			all = append(all, mutant{file: file, shown: shown, at: files.Position(at), from: from.String(), to: t.String()})
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			swap(n.OpPos, n.Op, instead[n.Op]...)
		case *ast.IncDecStmt:
			swap(n.TokPos, n.Tok, instead[n.Tok]...)
		case *ast.UnaryExpr:
			if n.Op == token.SUB { // invert negatives
				swap(n.OpPos, n.Op, token.ADD)
			}
		}
		return true
	})
	return all, nil
}
