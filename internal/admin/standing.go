package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// maxOpen bounds the streams that are known to be open.
const maxOpen = 1 << 18

// standing is which streams are open, so that what ends is counted off once.
type standing struct {
	streams map[session.StreamID]openStream
	byConn  map[session.ConnID]map[session.StreamID]struct{}
}

type openStream struct {
	conn    session.ConnID
	variant xds.Variant
}

func newStanding() standing {
	return standing{
		streams: make(map[session.StreamID]openStream),
		byConn:  make(map[session.ConnID]map[session.StreamID]struct{}),
	}
}

// stand keeps the number of open streams.
func (m *Metrics) stand(e *session.Entry, c *check.Change) {
	s := &m.standing
	switch e.Kind {
	case session.KindOpen:
		if s.begin(e.Conn, e.Stream, c.Variant) {
			m.gauge(c.Variant).Inc()
		}
	case session.KindTrailer, session.KindCancel:
		if v, was := s.end(e.Stream); was {
			m.gauge(v).Dec()
		}
	case session.KindDisconnect:
		for id := range s.byConn[e.Conn] {
			if v, was := s.end(id); was {
				m.gauge(v).Dec()
			}
		}
	}
}

func (m *Metrics) gauge(v xds.Variant) prometheus.Gauge {
	return m.open.WithLabelValues(variantLabel(v))
}

func (s *standing) begin(conn session.ConnID, id session.StreamID, v xds.Variant) bool {
	if _, is := s.streams[id]; is || id == 0 || len(s.streams) >= maxOpen {
		return false
	}
	s.streams[id] = openStream{conn, v}
	if s.byConn[conn] == nil {
		s.byConn[conn] = make(map[session.StreamID]struct{})
	}
	s.byConn[conn][id] = struct{}{}
	return true
}

func (s *standing) end(id session.StreamID) (xds.Variant, bool) {
	o, was := s.streams[id]
	if !was {
		return "", false
	}
	delete(s.streams, id)
	of := s.byConn[o.conn]
	if delete(of, id); len(of) == 0 {
		delete(s.byConn, o.conn)
	}
	return o.variant, true
}
