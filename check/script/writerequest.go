package script

import (
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/session"
)

func (w *writer) requestText(st *written, e *session.Entry, data []byte, m *decode.Message) string {
	cut := len(m.Names) - m.Locators.Names
	q := synth.Request{
		TypeURL: m.TypeURL, Version: m.Version, Nonce: m.Nonce, Node: m.Node, Error: m.Error,
		Names: m.Names[:cut], Locators: m.Names[cut:],
	}
	made := q.Marshal
	if isJSON(data) {
		made = q.JSON
	}
	w.compare(e, m, data, made, lostRequests)
	return "type=" + w.typeText(m.TypeURL) + " V=" + w.value(m.Version) + " N=" + w.value(m.Nonce) +
		" R=" + w.located(q.Names, q.Locators) + w.nodeText(st, m.Node) + w.errorText(m.Error)
}

func (w *writer) deltaRequestText(st *written, e *session.Entry, data []byte, m *decode.Message) string {
	sub, unsub := len(m.Subscribe)-m.Locators.Subscribe, len(m.Unsubscribe)-m.Locators.Unsubscribe
	q := synth.DeltaRequest{
		TypeURL: m.TypeURL, Nonce: m.Nonce, Node: m.Node, Error: m.Error, Initial: m.InitialVersions,
		Subscribe: m.Subscribe[:sub], SubscribeLocators: m.Subscribe[sub:],
		Unsubscribe: m.Unsubscribe[:unsub], UnsubscribeLocators: m.Unsubscribe[unsub:],
	}
	w.compare(e, m, data, q.Marshal, lostRequests)
	out := "type=" + w.typeText(m.TypeURL) + " N=" + w.value(m.Nonce)
	if len(m.Subscribe) > 0 || len(m.Unsubscribe) == 0 {
		out += " sub=" + w.located(q.Subscribe, q.SubscribeLocators)
	}
	if len(m.Unsubscribe) > 0 {
		out += " unsub=" + w.located(q.Unsubscribe, q.UnsubscribeLocators)
	}
	return out + w.initialText(m.InitialVersions) + w.nodeText(st, m.Node) + w.errorText(m.Error)
}

// initialText is init=. Of a name that stands twice the last one counts.
func (w *writer) initialText(list []decode.NameVersion) string {
	if len(list) == 0 {
		return ""
	}
	last := make(map[string]int, len(list))
	for i, v := range list {
		last[v.Name] = i
	}
	var parts []string
	for i, v := range list {
		if last[v.Name] != i {
			continue
		}
		version := ""
		if v.Version != "" {
			version = w.keyedText(v.Version)
		}
		parts = append(parts, w.keyedText(v.Name)+":"+version)
	}
	return " init={" + strings.Join(parts, ",") + "}"
}

// located is a list of names, those of locators last.
func (w *writer) located(names, locators []string) string {
	parts := make([]string, 0, len(names)+len(locators))
	for _, n := range names {
		t := w.text(n)
		if strings.HasPrefix(t, "loc:") {
			t = strconv.Quote(n)
		}
		parts = append(parts, t)
	}
	for _, n := range locators {
		parts = append(parts, "loc:"+w.text(n))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// maxNodes is how many nodes of a stream are remembered. Others are written in
// full each time.
const maxNodes = 64

// nodeText is a node, without what it has said on the stream before.
func (w *writer) nodeText(st *written, n *decode.Node) string {
	if n == nil {
		return ""
	}
	st.grpc = st.grpc || strings.HasPrefix(n.UserAgent, "gRPC")
	before := st.nodes[n.ID]
	full := before == nil && len(st.nodes) >= maxNodes
	if before == nil {
		before = &decode.Node{ClientFeatures: allFeatures}
	}
	if st.nodes == nil {
		st.nodes = make(map[string]*decode.Node)
	}
	out := " node=" + w.pairText(n.ID, n.Cluster)
	if full || n.UserAgent != before.UserAgent || n.UserAgentVersion != before.UserAgentVersion {
		out += " ua=" + w.pairText(n.UserAgent, n.UserAgentVersion)
	}
	if full || n.Region != before.Region || n.Zone != before.Zone {
		out += " locality=" + w.pairText(n.Region, n.Zone)
	}
	if full || !slices.Equal(n.ClientFeatures, before.ClientFeatures) {
		out += " features=" + w.list("[", n.ClientFeatures)
	}
	if !full {
		st.nodes[n.ID] = n
	}
	return out
}

func (w *writer) errorText(e *decode.Error) string {
	if e == nil {
		return ""
	}
	out := " err=" + quote(e.Message)
	if e.Code != defaultCode {
		out += " code=" + strconv.Itoa(int(e.Code))
	}
	return out
}
