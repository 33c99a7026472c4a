package main

import (
	"io"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// check says what run would refuse. That there is no upstream is no fault
// of who asks for settings.
func (ss *settings) check(con *console.Console) error {
	if len(ss.listeners) > 0 || len(ss.upstream) > 0 {
		_, err := ss.pairs(con)
		return err
	}
	if err := ss.settlePair(); err != nil {
		return err
	}
	return ss.pairTable().unused([]proxy.Pair{{ListenTLS: ss.pair.listenTLS(), UpstreamTLS: ss.pair.dialTLS()}})
}

// wouldTake says what is wrong with the text of a configuration file, apart from
// flags and the environment.
func wouldTake(text []byte, path string) error {
	ss := newSettings()
	ss.path = path
	doc, err := parseConfig(text)
	if err != nil {
		return err
	}
	if err := ss.takeFile(doc, path); err != nil {
		return err
	}
	return ss.check(&console.Console{Stderr: io.Discard})
}
