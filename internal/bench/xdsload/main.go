// xdsload drives xDS traffic through a proxy and prints what it cost, as one
// line of JSON.
//
// It is both ends at once: a management server on -listen and a fleet of
// clients dialling -target, so one clock times every push. Put a proxy between
// the two and give its process id with -pid: its CPU time and peak memory over
// the run are read from /proc, which holds on a noisy machine where a wall
// time does not.
//
// It does not start or stop the proxy, and it judges nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

type config struct {
	listen, target string
	label          string
	streams, conns int
	clusters       int
	pushes         int
	delta          bool
	pid            int
	hold, interval time.Duration
	entropy, churn int
}

func parse() config {
	var c config
	flag.StringVar(&c.listen, "listen", "127.0.0.1:18000", "management server address")
	flag.StringVar(&c.target, "target", "127.0.0.1:18000", "address the clients dial: the proxy, or the server itself")
	flag.IntVar(&c.streams, "streams", 1, "ADS streams")
	flag.IntVar(&c.conns, "conns", 1, "connections the streams share")
	flag.IntVar(&c.clusters, "clusters", 10, "clusters in each response")
	flag.IntVar(&c.pushes, "pushes", 1000, "responses on each stream")
	flag.BoolVar(&c.delta, "delta", false, "incremental ADS")
	flag.IntVar(&c.pid, "pid", 0, "process id of the proxy under test")
	flag.StringVar(&c.label, "label", "", "name printed with the figures")
	flag.DurationVar(&c.hold, "hold", 0, "keep all streams open this long once ready, before the first push")
	flag.DurationVar(&c.interval, "interval", 0, "least time between two responses of a stream (0: as fast as acknowledged)")
	flag.IntVar(&c.entropy, "entropy", 0, "random bytes in each cluster, so that a recording cannot be squeezed to nothing")
	flag.IntVar(&c.churn, "churn", 0, "clusters that change with each response")
	flag.Parse()
	return c
}

// result is the line that is printed. Its names are read by internal/bench/run.
type result struct {
	Label            string  `json:"label"`
	Streams          int     `json:"streams"`
	BytesPerResponse int     `json:"bytes_per_response"`
	Responses        int64   `json:"responses"`
	Damaged          int64   `json:"damaged"` // the body does not match the checksum it came with
	Nacks            int64   `json:"nacks"`
	StreamsFailed    int64   `json:"streams_failed"`
	LastError        string  `json:"last_error,omitempty"`
	WallS            float64 `json:"wall_s"`
	ResponsesPerS    float64 `json:"responses_per_s"`
	MBPerS           float64 `json:"MB_per_s"`
	PushP50          float64 `json:"push_us_p50"`
	PushP99          float64 `json:"push_us_p99"`
	PushMax          float64 `json:"push_us_max"`
	CPUS             float64 `json:"proxy_cpu_s"`
	CPUPerResponse   float64 `json:"proxy_cpu_us_per_response"`
	PeakMB           float64 `json:"proxy_peak_MB"`
}

// fleet is the client side: what all streams together saw.
type fleet struct {
	got, bad, failed atomic.Int64
	lastError        atomic.Value // string
}

const maxMessage = 1 << 30

func main() {
	c := parse()
	res, err := run(c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "xdsload:", err)
		os.Exit(1)
	}
	line, err := json.Marshal(res)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

func run(c config) (result, error) {
	srv := &server{cfg: c, body: makeClusters(c.clusters, c.entropy), start: make(chan struct{})}
	size := proto.Size(&discovery.DiscoveryResponse{Resources: srv.body})
	if c.delta {
		size = proto.Size(&discovery.DeltaDiscoveryResponse{Resources: srv.deltaResources(2)})
	}

	lis, err := net.Listen("tcp", c.listen)
	if err != nil {
		return result{}, err
	}
	gs := grpc.NewServer(grpc.MaxConcurrentStreams(1<<20), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(1<<20), grpc.InitialConnWindowSize(1<<22))
	discovery.RegisterAggregatedDiscoveryServiceServer(gs, srv)
	go gs.Serve(lis)
	defer gs.Stop()

	conns := make([]*grpc.ClientConn, c.conns)
	for i := range conns {
		conns[i], err = grpc.NewClient(c.target, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage), grpc.WaitForReady(true)),
			grpc.WithInitialWindowSize(1<<20), grpc.WithInitialConnWindowSize(1<<22))
		if err != nil {
			return result{}, err
		}
		defer conns[i].Close()
	}

	var f fleet
	latencies := make([][]int64, c.streams)
	var wg sync.WaitGroup
	for i := range c.streams {
		wg.Go(func() {
			cl := discovery.NewAggregatedDiscoveryServiceClient(conns[i%len(conns)])
			node := &corev3.Node{Id: fmt.Sprintf("node-%d", i), Cluster: "load"}
			follow := f.sotw
			if c.delta {
				follow = f.delta
			}
			if err := follow(context.Background(), cl, node, &latencies[i]); err != nil && !errors.Is(err, io.EOF) {
				f.failed.Add(1)
				f.lastError.Store(err.Error())
			}
		})
	}
	if err := srv.waitReady(60 * time.Second); err != nil {
		return result{}, fmt.Errorf("%s: %w; failed %d, last error %v", c.label, err, f.failed.Load(), f.lastError.Load())
	}
	time.Sleep(c.hold)

	cpu0, _ := cost(c.pid)
	t0 := time.Now()
	close(srv.start)
	wg.Wait()
	wall := time.Since(t0).Seconds()
	time.Sleep(200 * time.Millisecond) // what the proxy still does for the last responses counts
	cpu1, peakKB := cost(c.pid)

	all := slices.Concat(latencies...)
	slices.Sort(all)
	n := float64(f.got.Load())
	lastError, _ := f.lastError.Load().(string)
	return result{
		Label: c.label, Streams: c.streams, BytesPerResponse: size,
		Responses: f.got.Load(), Damaged: f.bad.Load(), Nacks: srv.nacks.Load(),
		StreamsFailed: f.failed.Load(), LastError: lastError,
		WallS: round(wall), ResponsesPerS: round(n / wall), MBPerS: round(n * float64(size) / wall / 1e6),
		PushP50: quantile(all, .5), PushP99: quantile(all, .99), PushMax: quantile(all, 1),
		CPUS: round(cpu1 - cpu0), CPUPerResponse: round((cpu1 - cpu0) * 1e6 / max(n, 1)), PeakMB: round(float64(peakKB) / 1024),
	}, nil
}

// quantile is in microseconds, of sorted nanoseconds.
func quantile(sorted []int64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return round(float64(sorted[int(p*float64(len(sorted)-1))]) / 1e3)
}

func round(f float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', 2, 64), 64)
	return v
}
