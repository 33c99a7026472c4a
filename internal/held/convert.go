package held

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

const (
	// maxItems bounds what is remembered of a client from one answer to the next.
	maxItems   = 200_000
	maxMetrics = 10_000
	maxNode    = 256 << 10
)

const typePrefix = "type.googleapis.com/"

// Messages of envoy.admin.v3 that stand beside the resources.
const (
	unreadyURL = typePrefix + "envoy.admin.v3.UnreadyTargetsDumps"
	metricURL  = typePrefix + "envoy.admin.v3.SimpleMetric"
)

// initDumpName is the name of the item that says what is waited for.
const initDumpName = "init_dump"

// fromDump converts what a config_dump has.
func fromDump(d *configdump.Dump) (*answer, error) {
	a := &answer{id: d.Node, node: appendText(nil, 1, d.Node), notes: d.Notes}
	if len(d.Resources) > maxItems {
		return nil, &fault{kind: "many", text: fmt.Sprintf("it holds more than %d resources", maxItems)}
	}
	for i := range d.Resources {
		a.items = append(a.items, fromResource(&d.Resources[i]))
	}
	return a, nil
}

func fromResource(r *configdump.Resource) item {
	g := generic{key: key{urlOf(r), r.Name}, version: r.Version, updated: r.Updated, static: r.Derived}
	if r.State == configdump.Failed {
		var f []byte
		if r.Body != nil {
			f = appendBytes(f, failedField, anyOf(g.typeURL, r.Body))
		}
		f = appendTime(f, attemptField, r.Updated)
		f = appendText(f, detailsField, r.Details)
		g.failure = appendText(f, failedVersionField, r.Version)
		g.version, g.state, g.updated = "", nacked, time.Time{}
		return g.item()
	}
	absent := r.State == configdump.Awaited || r.State == configdump.Gone || r.State == configdump.Timeout || r.State == configdump.Unknown
	if r.Body != nil || !absent {
		g.configURL, g.config = g.typeURL, r.Body
	}
	switch r.State {
	case configdump.Warming:
		g.state = requested
	case configdump.Awaited:
		g.state, g.configURL = requested, ""
	case configdump.Timeout:
		g.state = timeout
	case configdump.Unknown:
		g.state = unknown
	case configdump.Draining, configdump.Gone:
		g.state = doesNotExist
	case configdump.Static:
		g.state, g.static = acked, true
	default:
		g.state = acked
	}
	unread := r.Unread
	if r.Body == nil && g.configURL != "" && len(unread) == 0 {
		unread = []string{"its content is not in the answer"}
	}
	if g.configURL != "" && len(unread) > 0 {
		g.failure = appendText(nil, detailsField, strings.Join(unread, "; "))
	}
	return g.item()
}

// urlOf is the type of a resource, which an entry without content does not say.
func urlOf(r *configdump.Resource) string {
	if r.TypeURL != "" {
		return r.TypeURL
	}
	return typePrefix + xds.ByShort(r.Type).V3
}

// addUnready adds what an init_dump says: what is waited for, and by whom.
func (a *answer) addUnready(text []byte) {
	var said struct {
		Dumps []struct {
			Name    string   `json:"name"`
			Targets []string `json:"target_names"`
		} `json:"unready_targets_dumps"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		a.notes = append(a.notes, "init_dump cannot be read")
		return
	}
	var all []byte
	for _, d := range said.Dumps {
		if len(d.Targets) == 0 {
			continue
		}
		one := appendText(nil, 1, d.Name)
		for _, t := range d.Targets {
			one = protowire.AppendString(protowire.AppendTag(one, 2, protowire.BytesType), t)
		}
		all = appendBytes(all, 1, one)
	}
	if len(all) > 0 {
		g := generic{key: key{unreadyURL, initDumpName}, configURL: unreadyURL, config: all, state: acked}
		a.items = append(a.items, g.item())
	}
}

// statsPath asks for the counters and versions of subscriptions. Envoy counts
// update_success of clusters that ask DNS, too, where it is no matter of xDS.
const statsPath = `/stats?usedonly&filter=` +
	`%5E(cluster_manager%5C.cds%7Clistener_manager%5C.lds%7Chttp%5C..*rds%5C..*%7Csds%5C..*)%5C.(update_success%7Cupdate_rejected%7Cversion_text)%24` +
	`%7C%5Ecluster%5C..*%5C.update_rejected%24`

// fileStats asks for those of subscriptions to files, too: how often one was read,
// and how that went.
const fileStats = `%7C%5E(cluster_manager%5C.cds%7Clistener_manager%5C.lds%7Chttp%5C..*rds%5C..*%7Csds%5C..*%7Ccluster%5C..*)%5C.(update_attempt%7Cupdate_failure%7Cupdate_success)%24`

func (e *envoy) statsPath() string {
	if e.files {
		return statsPath + fileStats
	}
	return statsPath
}

// addStats adds what the lines of /stats say: numbers, and texts in quotes.
func (a *answer) addStats(text []byte) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 0; lines.Scan() && n < maxMetrics; {
		i := strings.LastIndex(lines.Text(), ": ")
		if i <= 0 {
			continue
		}
		name, value := lines.Text()[:i], lines.Text()[i+2:]
		g := generic{key: key{metricURL, strings.ToValidUTF8(name, "�")}, configURL: metricURL, state: acked}
		if said, err := strconv.Unquote(value); err == nil && strings.HasSuffix(name, ".version_text") {
			if said == "" {
				continue
			}
			g.version = strings.ToValidUTF8(said, "�")
		} else if number, err := strconv.ParseUint(value, 10, 64); err == nil {
			g.config = protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), number)
		} else {
			continue
		}
		g.config = appendText(g.config, 3, g.name)
		a.items = append(a.items, g.item())
		n++
	}
}
