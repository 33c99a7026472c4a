package admin

import (
	"sync/atomic"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Labels of what is in no set. The first is that of types, variants and notes
// that are not known here, the second of messages that are about no type, such
// as load reports.
const (
	otherLabel = "other"
	noneLabel  = "none"
)

// maxNotes bounds the codes of notes that are told apart. This program writes
// them, so that there are but a few.
const maxNotes = 64

// Metrics counts what passes, as a log tells it. One goroutine steps it; any
// may collect it.
type Metrics struct {
	connections prometheus.Counter
	ended       *prometheus.CounterVec
	notes       *prometheus.CounterVec
	streams     *prometheus.CounterVec
	open        *prometheus.GaugeVec
	messages    *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	wireBytes   *prometheus.CounterVec
	acks        *prometheus.CounterVec
	nacks       *prometheus.CounterVec
	answers     *prometheus.HistogramVec
	findings    *prometheus.CounterVec // nil: nothing looks for them

	// What follows is of the goroutine that steps.
	types    map[string]*typeMetrics // by short type; those that met first are made
	known    map[string]bool         // short types that have a label of their own
	codes    map[session.NoteCode]prometheus.Counter
	standing standing

	seen atomic.Uint64 // session.Seq of the newest entry that is counted
}

// typeMetrics are the counters of one type, looked up once.
type typeMetrics struct {
	client, server sideMetrics
	acks, nacks    prometheus.Counter
	answers        prometheus.Observer
}

// sideMetrics are those of what one side sends.
type sideMetrics struct{ messages, bytes, wireBytes prometheus.Counter }

// NewMetrics counts nothing yet. rules are those that Step is given findings
// of; nil if there are none to come.
func NewMetrics(rules []*check.Rule) *Metrics {
	m := &Metrics{
		connections: newCounter("connections_total", "Connections of clients that were recorded. In a storm of connections that fail it is the first."),
		ended:       newCounterVec("connections_ended_total", "Connections that are over, by who ended them: the proxy does if the server cannot be reached, and when it stops.", "by"),
		notes:       newCounterVec("notes_total", "What the proxy noted in the recording, by code: connections that could not be made, or not be followed. In a storm one note stands for many.", "code"),
		streams:     newCounterVec("streams_total", "Streams that clients opened. With REST each poll is one.", "variant"),
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "streams_open",
			Help: "Streams that are open. After entries were lost it may be too high.",
		}, []string{"variant"}),
		messages:  newCounterVec("messages_total", "Messages, by the side that sent them.", "type", "side"),
		bytes:     newCounterVec("message_bytes_total", "Bytes of messages after decompression.", "type", "side"),
		wireBytes: newCounterVec("message_wire_bytes_total", "Bytes of messages as they were sent.", "type", "side"),
		acks:      newCounterVec("acks_total", "Responses that clients accepted.", "type"),
		nacks:     newCounterVec("nacks_total", "Responses that clients rejected.", "type"),
		answers: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "answer_duration_seconds",
			Help:    "How long clients took to accept or reject a response.",
			Buckets: []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60},
		}, []string{"type"}),
		types: make(map[string]*typeMetrics), known: make(map[string]bool),
		codes: make(map[session.NoteCode]prometheus.Counter), standing: newStanding(),
	}
	// What alerts look at is there from the beginning: a counter that appears
	// with its first value has not increased, as Prometheus sees it.
	for _, side := range []session.Side{session.Client, session.Server, session.Proxy} {
		m.ended.WithLabelValues(side.String())
	}
	for _, t := range xds.ShortTypes() {
		m.known[t] = true
		m.nacks.WithLabelValues(t)
	}
	m.note(session.NoteDialFailed)
	if rules != nil {
		m.findings = newCounterVec("findings_total", "Findings, when they are first proved of a client, and once more when they become graver. Repetitions are not counted.", "rule", "severity")
		for _, r := range rules {
			m.findings.WithLabelValues(r.ID, r.Severity.String())
		}
	}
	return m
}

const namespace = "xdsproxy"

func newCounter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func newCounterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func (m *Metrics) all() []prometheus.Collector {
	all := []prometheus.Collector{
		m.connections, m.ended, m.notes, m.streams, m.open, m.messages, m.bytes, m.wireBytes, m.acks, m.nacks, m.answers,
	}
	if m.findings != nil {
		all = append(all, m.findings)
	}
	return all
}

// Describe makes Metrics a prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(ch)
	}
}

// Collect makes Metrics a prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(ch)
	}
}

// Seen is the number of the newest entry that is counted.
func (m *Metrics) Seen() session.Seq { return session.Seq(m.seen.Load()) }

// Step counts an entry, and what it means. It must be given every entry of a
// log, in order, and keeps nothing of them.
func (m *Metrics) Step(e *session.Entry, c *check.Change) {
	m.stand(e, c)
	if !e.Carried { // else it was counted when it was new
		m.count(e, c)
	}
	m.seen.Store(uint64(e.Seq))
}

func (m *Metrics) count(e *session.Entry, c *check.Change) {
	switch e.Kind {
	case session.KindConnect:
		m.connections.Inc()
	case session.KindDisconnect:
		m.ended.WithLabelValues(e.Side.String()).Inc()
	case session.KindOpen:
		m.streams.WithLabelValues(variantLabel(c.Variant)).Inc()
	case session.KindNote:
		if e.Note != nil && !personal(e.Note.Code) {
			m.note(e.Note.Code).Inc()
		}
	case session.KindMessage:
		if e.Message != nil {
			m.message(e, c)
		}
	}
	if m.findings == nil {
		return
	}
	for i := range c.Findings {
		if f := &c.Findings[i]; !f.Told || f.Severity > f.Was {
			m.findings.WithLabelValues(f.Rule.ID, f.Severity.String()).Inc()
		}
	}
}

func (m *Metrics) message(e *session.Entry, c *check.Change) {
	of := m.typed(c.Type)
	side := &of.server
	if e.Side == session.Client {
		side = &of.client
	}
	side.messages.Inc()
	side.bytes.Add(float64(e.Message.Size))
	side.wireBytes.Add(float64(e.Message.WireSize))
	switch c.What {
	case engine.ACK:
		of.acks.Inc()
	case engine.NACK:
		of.nacks.Inc()
	default:
		return
	}
	if c.Waited > 0 {
		of.answers.Observe(c.Waited.Seconds())
	}
}

// typed are the counters of a short type, which a peer may have made up.
func (m *Metrics) typed(short string) *typeMetrics {
	label := short
	switch {
	case short == "":
		label = noneLabel
	case !m.known[short]:
		label = otherLabel
	}
	if of := m.types[label]; of != nil {
		return of
	}
	side := func(s session.Side) sideMetrics {
		return sideMetrics{
			m.messages.WithLabelValues(label, s.String()),
			m.bytes.WithLabelValues(label, s.String()), m.wireBytes.WithLabelValues(label, s.String()),
		}
	}
	of := &typeMetrics{
		client: side(session.Client), server: side(session.Server),
		acks: m.acks.WithLabelValues(label), nacks: m.nacks.WithLabelValues(label),
		answers: m.answers.WithLabelValues(label),
	}
	m.types[label] = of
	return of
}

func (m *Metrics) note(code session.NoteCode) prometheus.Counter {
	if c := m.codes[code]; c != nil {
		return c
	}
	label := string(code)
	if len(m.codes) >= maxNotes {
		label = otherLabel
	}
	c := m.notes.WithLabelValues(label)
	if len(m.codes) < maxNotes {
		m.codes[code] = c
	}
	return c
}

// personal says whether a note is no news of the proxy: a person wrote it, a
// replay did, or it is of the bootstrap or of files.
func personal(code session.NoteCode) bool {
	switch code {
	case session.NoteMark, session.NoteUnmark, session.NoteRemark, session.NoteSilenced, session.NoteFault, session.NoteStatic, session.NoteFiles:
		return true
	}
	return false
}

func variantLabel(v xds.Variant) string {
	if v == "" {
		return otherLabel
	}
	return string(v)
}
