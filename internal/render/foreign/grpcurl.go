package foreign

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Request is a request that can be sent again by hand.
type Request struct {
	Method  xds.Method
	Address string // of the server; "" if it is not known
	Body    document.Document
	First   document.Document // the first request of its stream, which names the node; empty if Body is that
}

// Grpcurl is a command of grpcurl that sends the request on a stream of its
// own, with what to know about it.
func (r *Request) Grpcurl() (string, error) {
	service, method, ok := strings.Cut(strings.TrimPrefix(r.Method.Path, "/"), "/")
	if !ok || r.Method.Variant == xds.VariantREST {
		return "", fmt.Errorf("this is no request of gRPC, so that grpcurl cannot send it")
	}
	body := document.Document{Root: document.Tree{Kind: document.Object}}
	if _, has := r.Body.Root.Get("node"); !has {
		if node, has := r.First.Root.Get("node"); has {
			body.Root.Members = append(body.Root.Members, document.Member{Name: "node", Value: *node})
		}
	}
	for _, f := range r.Body.Root.Members {
		switch {
		case f.Name == "response_nonce", f.Name == "error_detail", f.Name == "version_info":
			continue // they are about a stream that is over
		case strings.HasPrefix(f.Name, "@"):
			continue // grpcurl knows no such fields
		}
		body.Root.Members = append(body.Root.Members, f)
	}
	address := r.Address
	if address == "" {
		address = "HOST:PORT"
	}
	data := string(render.EscapeJSON(body.Compact()))
	var b strings.Builder
	b.WriteString("# The request opens a stream of its own: version, nonce and error of the old one are left out.\n")
	b.WriteString("# The stream ends after the answer. To keep it open, and to type more requests, each as one\n")
	b.WriteString("# line of JSON: put -d @ in place of -d '...', paste the JSON, and end it with ctrl-d.\n")
	b.WriteString("# Of a server without reflection, name the types, too: -import-path DIR -proto envoy/service/discovery/v3/ads.proto\n")
	fmt.Fprintf(&b, "grpcurl -plaintext -d %s %s %s/%s\n", shellQuote(data), shellQuote(render.Safe(address)), shellQuote(render.Safe(service)), shellQuote(render.Safe(method)))
	return b.String(), nil
}

// shellQuote makes one word of a text for a shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
