package page

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/source"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// bootstrap shows what a client's configuration must say to get here: a page for
// each kind of client and each listener.
type bootstrap struct {
	view.Page
	routes []source.Route // none: there is no proxy
	page   int
}

func NewBootstrap(scr view.Screen) view.View {
	v := &bootstrap{}
	if scr.Log().Proxy != nil {
		v.routes = scr.Log().Proxy.Routes
	}
	return v
}

func (v *bootstrap) Title() string { return "Bootstrap" }

func (v *bootstrap) Keys() []key.Offer {
	return append([]key.Offer{
		{Act: key.Copy, Hint: "copy", Help: "copy the snippet"},
		{Act: key.NextPane, Hint: "page", Help: "Envoy, gRPC, the next listener"},
		{Act: key.Form, Help: "the same"},
		{Act: key.PrevPane, Help: "the page before"},
	}, v.Offers()...)
}

// pages is how many there are: two for each listener.
func (v *bootstrap) pages() int { return 2 * len(v.routes) }

func (v *bootstrap) Do(scr view.Screen, a key.Action) tea.Cmd {
	if cmd, done := v.Page.Do(scr, a, v.paragraphs(scr)); done {
		return cmd
	}
	if v.pages() == 0 {
		scr.Say("there is no proxy here to connect to")
		return nil
	}
	switch a {
	case key.NextPane, key.Form:
		v.turn(1)
	case key.PrevPane:
		v.turn(-1)
	case key.Copy:
		return scr.Copy(scr.Aliases().Text(v.snippet()), "the snippet")
	}
	return nil
}

func (v *bootstrap) turn(by int) {
	v.page = (v.page + by + v.pages()) % v.pages()
	v.Win, v.Words = widget.Window{Rows: v.Win.Rows}, ""
}

func (v *bootstrap) route() source.Route { return v.routes[v.page/2] }
func (v *bootstrap) grpc() bool          { return v.page%2 == 1 }

// snippet is the text of the page, without what is said about it.
func (v *bootstrap) snippet() string {
	at := endpointOf(v.route().Listen)
	at.secure = securityOf(v.route())
	if v.grpc() {
		return at.grpcBootstrap()
	}
	return at.envoyBootstrap()
}

func (v *bootstrap) paragraphs(scr view.Screen) []widget.Paragraph {
	if v.pages() == 0 {
		return []widget.Paragraph{
			{Head: "There is no proxy here.", Look: widget.Title},
			{Text: "This is " + view.SourceName(scr) + ", which is only read. A client can be pointed at a proxy that runs:"},
			{},
			{Text: "xdsproxy run --upstream ADDR", Tone: widget.Accent, AsIs: true},
		}
	}
	r := v.route()
	at := endpointOf(r.Listen)
	what := "Envoy: a bootstrap that gets everything from here by ADS"
	if v.grpc() {
		what = "gRPC: the file that GRPC_XDS_BOOTSTRAP names"
	}
	out := []widget.Paragraph{
		{Head: what, Look: widget.Title},
		{Text: scr.Aliases().Text(r.Listen + " leads to " + r.Upstream), Tone: widget.Muted},
	}
	if at.anywhere {
		out = append(out, widget.Paragraph{
			Text: "The proxy listens on every address of this machine; " + at.host + " is for clients on it. Others need an address by which they reach it.",
			Tone: widget.Warned,
		})
	}
	if r.Secure && r.Roots == "" {
		out = append(out, widget.Paragraph{Text: "The listener speaks TLS: put in the file of who signed its certificate.", Tone: widget.Warned})
	}
	if r.Asked {
		out = append(out, widget.Paragraph{Text: "It wants a certificate of clients: put in the files of one.", Tone: widget.Warned})
	}
	return append(out, widget.Paragraph{}, widget.Paragraph{Text: scr.Aliases().Text(v.snippet()), AsIs: true})
}

func (v *bootstrap) Draw(scr view.Screen, w, h int) []widget.Line {
	return v.Sheet.Draw(v.paragraphs(scr), w, h)
}

func (v *bootstrap) Where(scr view.Screen) string {
	if v.pages() == 0 {
		return ""
	}
	return fmt.Sprintf("%s   page %d of %d", v.Sheet.Where(v.paragraphs(scr)), v.page+1, v.pages())
}

func (v *bootstrap) About(view.Screen) widget.Line {
	if v.pages() == 0 {
		return widget.Line{}
	}
	return widget.Text(widget.Muted, "y copies it; tab: Envoy, gRPC")
}

func (v *bootstrap) Click(scr view.Screen, _, y int, _ bool) tea.Cmd {
	v.Sheet.Click(v.paragraphs(scr), y)
	return nil
}

// endpoint is where a client connects.
type endpoint struct {
	host, port string
	path       string // of a Unix socket; with @ if it is abstract
	anywhere   bool   // host stands for all addresses
	numeric    bool   // host is an address, not a name
	secure     *security
}

// security is how a client speaks TLS with a listener.
type security struct {
	name        string // that it asks for
	roots       string // file of who is trusted
	certificate bool   // it has to show one
}

// securityOf is nil for plaintext. Clients ask for the name that they would have
// asked the upstream for.
func securityOf(r source.Route) *security {
	if !r.Secure {
		return nil
	}
	s := &security{name: "localhost", roots: r.Roots, certificate: r.Asked}
	if s.roots == "" {
		s.roots = "/path/to/roots.pem"
	}
	if host, _, err := net.SplitHostPort(r.Upstream); err == nil && host != "" {
		s.name = host
	}
	return s
}

// certFiles is what stands for files that only the client's owner knows.
const (
	certFile = "/path/to/client.pem"
	keyFile  = "/path/to/client-key.pem"
)

// envoySocket is the transport socket of a cluster, to be put in below one.
func (s *security) envoySocket() string {
	if s == nil {
		return ""
	}
	shown := ""
	if s.certificate {
		shown = `
            tls_certificates:
              - certificate_chain: {filename: ` + certFile + `}
                private_key: {filename: ` + keyFile + `}`
	}
	return `      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          sni: ` + yamlText(s.name) + `
          common_tls_context:
            alpn_protocols: [h2]` + shown + `
            validation_context:
              trusted_ca: {filename: ` + yamlText(s.roots) + `}
`
}

// grpcCreds are channel credentials.
func (s *security) grpcCreds() string {
	if s == nil {
		return `{"type": "insecure"}`
	}
	shown := ""
	if s.certificate {
		shown = `, "certificate_file": "` + certFile + `", "private_key_file": "` + keyFile + `"`
	}
	return `{"type": "tls", "config": {"ca_certificate_file": ` + yamlText(s.roots) + shown + `}}`
}

// endpointOf reads an address as the proxy writes it.
func endpointOf(listen string) endpoint {
	if path, is := strings.CutPrefix(listen, "unix:"); is {
		return endpoint{path: path}
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return endpoint{host: listen, port: "0"}
	}
	e := endpoint{host: host, port: port}
	at, err := netip.ParseAddr(host)
	if host == "" || err == nil && at.IsUnspecified() {
		e.anywhere, e.host, err = true, "127.0.0.1", nil
	}
	e.numeric = err == nil
	return e
}

// envoyBootstrap is a bootstrap that Envoy starts with.
func (e *endpoint) envoyBootstrap() string {
	kind, address := "STATIC", fmt.Sprintf("socket_address: {address: %s, port_value: %s}", yamlText(e.host), e.port)
	switch {
	case e.path != "":
		address = fmt.Sprintf("pipe: {path: %s}", yamlText(e.path))
	case !e.numeric:
		kind = "STRICT_DNS"
	}
	return `node:
  id: my-envoy
  cluster: my-cluster
dynamic_resources:
  ads_config:
    api_type: GRPC
    transport_api_version: V3
    grpc_services:
      - envoy_grpc: {cluster_name: xdsproxy}
  cds_config: {resource_api_version: V3, ads: {}}
  lds_config: {resource_api_version: V3, ads: {}}
static_resources:
  clusters:
    - name: xdsproxy
      type: ` + kind + `
      connect_timeout: 5s
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: {http2_protocol_options: {}}
` + e.secure.envoySocket() + `      load_assignment:
        cluster_name: xdsproxy
        endpoints:
          - lb_endpoints:
              - endpoint:
                  address:
                    ` + address + `
`
}

// yamlText is a text as YAML reads it, whatever is in it.
func yamlText(s string) string {
	b, _ := json.Marshal(s) // a string can always be written
	return string(b)
}

// grpcBootstrap is a bootstrap that gRPC's libraries read.
func (e *endpoint) grpcBootstrap() string {
	uri := net.JoinHostPort(e.host, e.port)
	if e.path != "" {
		uri = "unix:" + e.path
		if name, abstract := strings.CutPrefix(e.path, "@"); abstract {
			uri = "unix-abstract:" + name
		}
	}
	return `{
  "xds_servers": [
    {
      "server_uri": ` + yamlText(uri) + `,
      "channel_creds": [` + e.secure.grpcCreds() + `],
      "server_features": ["xds_v3"]
    }
  ],
  "node": {
    "id": "my-client"
  }
}
`
}
