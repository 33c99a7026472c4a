package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// stateCollector tells what others know, at the moment in which it is asked.
type stateCollector struct {
	c *Config

	connections, refused, entries, bytes, queued, room, lag, lost, gaps, failing, losses, trail, past, budget, forgotten *prometheus.Desc
}

func newStateCollector(c *Config) *stateCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, nil)
	}
	return &stateCollector{
		c:           c,
		connections: desc("connections_open", "Connections of clients that are being forwarded."),
		refused:     desc("connections_refused_total", "Clients that were refused because of --max-connections or --max-streams."),
		entries:     desc("recorder_entries_total", "Entries that were recorded."),
		bytes:       desc("recorder_bytes", "Size of the recording, with its earlier segments that are left."),
		queued:      desc("recorder_queue_bytes", "What waits to be recorded, as the queue charges for it."),
		room:        desc("recorder_queue_limit_bytes", "What the queue has room for."),
		lag:         desc("recorder_lag_entries", "Entries that were seen and are not recorded yet."),
		lost:        desc("recorder_lost_entries_total", "Entries that were not recorded: the queue was full, or the file could not be written."),
		gaps:        desc("recorder_gaps_total", "Gaps in the recording. Each stands for lost entries in a row."),
		failing:     desc("recorder_failing", "1 while the recording cannot be written, else 0."),
		losses:      desc("recorder_files_lost_total", "Files of the recording that somebody else removed, renamed, replaced or truncated while they were written. Each time recording went on in another."),
		trail:       desc("metrics_lag_entries", "Entries that were seen and that the other metrics do not count yet."),
		past:        desc("past_bytes", "What is remembered of what is over, such as streams that ended, by the account's own reckoning."),
		budget:      desc("past_budget_bytes", "What --memory-past has room for."),
		forgotten:   desc("past_forgotten_total", "How often something that was over had to be forgotten. Rules that would need it are silent; more --memory-past helps."),
	}
}

// Describe makes it a prometheus.Collector.
func (s *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		s.connections, s.refused, s.entries, s.bytes, s.queued, s.room, s.lag, s.lost, s.gaps, s.failing, s.losses, s.trail,
		s.past, s.budget, s.forgotten,
	} {
		ch <- d
	}
}

// Collect makes it a prometheus.Collector.
func (s *stateCollector) Collect(ch chan<- prometheus.Metric) {
	seen := s.c.Metrics.Seen() // first: the log can only be ahead of it
	st := s.c.Stats()
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	counter := func(d *prometheus.Desc, v uint64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	gauge(s.connections, float64(s.c.Clients()))
	counter(s.refused, s.c.Refused())
	counter(s.entries, st.Entries)
	gauge(s.bytes, float64(st.Bytes))
	gauge(s.queued, float64(st.Queued))
	gauge(s.room, float64(s.c.QueueBytes))
	gauge(s.lag, float64(waiting(&st)))
	counter(s.lost, st.Lost)
	counter(s.gaps, st.Gaps)
	failing := 0.0
	if st.Failing {
		failing = 1
	}
	gauge(s.failing, failing)
	counter(s.losses, st.Losses)
	gauge(s.trail, float64(uint64(st.Last)-min(uint64(seen), uint64(st.Last))))
	if s.c.Memory != nil {
		m := s.c.Memory()
		gauge(s.past, float64(m.Past))
		gauge(s.budget, float64(m.Budget))
		counter(s.forgotten, m.Forgotten)
	}
}

// waiting is how many entries have a number and are neither recorded nor lost.
func waiting(st *recorder.Stats) uint64 {
	return uint64(st.Last) - min(st.Entries+st.Lost, uint64(st.Last))
}

// newBuildInfo tells which program this is.
func newBuildInfo(b Build) prometheus.Collector {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info",
		Help: "Always 1; the labels say which program this is.",
	}, []string{"version", "revision", "goversion", "xds_api"})
	g.WithLabelValues(b.Version, b.Revision, b.Go, b.XDS).Set(1)
	return g
}
