package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// stateCollector tells what others know, at the moment in which it is asked.
type stateCollector struct{ c *Config }

// Describe makes it a prometheus.Collector.
func (s stateCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, ch) }

// Collect makes it a prometheus.Collector.
func (s stateCollector) Collect(ch chan<- prometheus.Metric) {
	seen := s.c.Metrics.Seen() // first: the log can only be ahead of it
	st := s.c.Stats()
	tell := func(kind prometheus.ValueType, name, help string, v float64) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, nil), kind, v)
	}
	gauge := func(name, help string, v float64) { tell(prometheus.GaugeValue, name, help, v) }
	counter := func(name, help string, v uint64) { tell(prometheus.CounterValue, name, help, float64(v)) }
	failing := 0.0
	if st.Failing {
		failing = 1
	}
	gauge("connections_open", "Connections of clients that are being forwarded.", float64(s.c.Clients()))
	counter("connections_refused_total", "Clients that were refused because of --max-connections or --max-streams.", s.c.Refused())
	counter("recorder_entries_total", "Entries that were recorded.", st.Entries)
	gauge("recorder_bytes", "Size of the recording, with its earlier segments that are left.", float64(st.Bytes))
	gauge("recorder_queue_bytes", "What waits to be recorded, as the queue charges for it.", float64(st.Queued))
	gauge("recorder_queue_limit_bytes", "What the queue has room for.", float64(s.c.QueueBytes))
	gauge("recorder_lag_entries", "Entries that were seen and are not recorded yet.", float64(waiting(&st)))
	counter("recorder_lost_entries_total", "Entries that were not recorded: the queue was full, or the file could not be written.", st.Lost)
	counter("recorder_gaps_total", "Gaps in the recording. Each stands for lost entries in a row.", st.Gaps)
	gauge("recorder_failing", "1 while the recording cannot be written, else 0.", failing)
	counter("recorder_files_lost_total", "Files of the recording that somebody else removed, renamed, replaced, truncated or overwritten while they were written. Each time recording went on in another.", st.Losses)
	gauge("metrics_lag_entries", "Entries that were seen and that the other metrics do not count yet.", float64(uint64(st.Last)-min(uint64(seen), uint64(st.Last))))
	if s.c.Dumps != nil {
		d := s.c.Dumps()
		counter("dumps_written_total", "Dumps of --dump-on that were written.", d.Written)
		counter("dumps_failed_total", "Dumps that could not be written.", d.Failed)
		counter("dumps_skipped_total", "Dumps that were not tried, because there were too many in a short time.", d.Skipped)
	}
	if s.c.Held != nil {
		h := s.c.Held()
		counter("held_asked_total", "How often clients were asked what they hold.", h.Asked)
		counter("held_failed_total", "How often they could not be asked, or not be understood.", h.Failed)
	}
	if s.c.Archive != nil {
		a := s.c.Archive()
		stalled := 0.0
		if a.Stalled {
			stalled = 1
		}
		gauge("archive_pending_segments", "Finished segments that wait for their upload. After a start one of an earlier run may be there already.", float64(a.Pending))
		gauge("archive_pending_bytes", "Size of the finished segments that wait for their upload.", float64(a.PendingBytes))
		gauge("archive_oldest_pending_seconds", "How long the oldest of them waits, since it was finished.", a.Oldest.Seconds())
		counter("archive_uploaded_segments_total", "Segments that the archive has, by this process or found there.", a.Done)
		counter("archive_uploaded_bytes_total", "Size of the segments that the archive has.", uint64(a.DoneBytes))
		gauge("archive_failed_segments", "Segments that this process does not upload: they cannot be read, or the archive has another object in their place. The log says why.", float64(a.Failed))
		gauge("archive_failed_bytes", "Size of these segments.", float64(a.FailedBytes))
		counter("archive_dropped_segments_total", "Segments that --keep deleted before they were uploaded.", a.Dropped)
		counter("archive_errors_total", "Attempts to upload that failed. Each is made again.", a.Errors)
		gauge("archive_stalled", "1 while the last attempt to upload has failed, else 0.", stalled)
	}
	if s.c.Memory != nil {
		m := s.c.Memory()
		gauge("past_bytes", "What is remembered of what is over, such as streams that ended, by the account's own reckoning.", float64(m.Past))
		gauge("past_budget_bytes", "What --memory-past has room for.", float64(m.Budget))
		counter("past_forgotten_total", "How often something that was over had to be forgotten. Rules that would need it are silent; more --memory-past helps.", m.Forgotten)
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

// Held is how often clients were asked what they hold.
type Held struct{ Asked, Failed uint64 }

// Dumps are how many dumps there were.
type Dumps struct{ Written, Failed, Skipped uint64 }

// Archive is what was uploaded, and what is not yet.
type Archive struct {
	Pending      uint64
	PendingBytes int64
	Oldest       time.Duration
	Done         uint64
	DoneBytes    int64
	Failed       uint64
	FailedBytes  int64
	Dropped      uint64
	Errors       uint64
	Stalled      bool
}
