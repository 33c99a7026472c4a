package xdstest

import (
	"errors"
	"io"
	"time"

	loadstats "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

// loadInterval is how often a client is to report its load.
const loadInterval = time.Second

// loads asks each client for reports of all its clusters, and reads them.
type loads struct {
	loadstats.UnimplementedLoadReportingServiceServer
}

func (loads) StreamLoadStats(s grpc.BidiStreamingServer[loadstats.LoadStatsRequest, loadstats.LoadStatsResponse]) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	err := s.Send(&loadstats.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(loadInterval)})
	for err == nil {
		_, err = s.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
