package main

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

const clusterType = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

// server pushes one prepared body to each stream as fast as it is acknowledged.
type server struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	cfg   config
	body  []*anypb.Any
	start chan struct{} // closed when every stream is up
	ready atomic.Int64
	nacks atomic.Int64
}

// waitReady returns once every stream has sent its first request.
func (s *server) waitReady(limit time.Duration) error {
	for deadline := time.Now().Add(limit); s.ready.Load() < int64(s.cfg.streams); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("only %d of %d streams came up", s.ready.Load(), s.cfg.streams)
		}
	}
	return nil
}

// resources is the full state at push i: the prepared body, of which -churn
// clusters, walking through the list, carry this push's own alt_stat_name.
func (s *server) resources(i int) []*anypb.Any {
	if s.cfg.churn == 0 {
		return s.body
	}
	out := append([]*anypb.Any(nil), s.body...)
	for k := range s.cfg.churn {
		j := (i*s.cfg.churn + k) % len(out)
		out[j] = makeCluster(j, s.cfg.entropy, i)
	}
	return out
}

func (s *server) deltaResources(i int) []*discovery.Resource {
	var out []*discovery.Resource
	all := s.resources(i)
	if s.cfg.churn > 0 && i > 1 {
		for k := range s.cfg.churn {
			j := (i*s.cfg.churn + k) % len(all)
			out = append(out, &discovery.Resource{Name: fmt.Sprintf("c%d", j), Version: strconv.Itoa(i), Resource: all[j]})
		}
		return out
	}
	for j, a := range all {
		out = append(out, &discovery.Resource{Name: fmt.Sprintf("c%d", j), Version: "1", Resource: a})
	}
	return out
}

// pace waits for push i's place in the schedule of -interval.
func (s *server) pace(begin time.Time, i int) {
	if s.cfg.interval > 0 {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * s.cfg.interval)))
	}
}

// stamp is a nonce that says when it was sent.
func stamp(i int) string { return fmt.Sprintf("%d-%d", i, time.Now().UnixNano()) }

func (s *server) StreamAggregatedResources(st discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	if _, err := st.Recv(); err != nil {
		return err
	}
	s.ready.Add(1)
	<-s.start
	begin := time.Now()
	for i := 1; i <= s.cfg.pushes; i++ {
		res := s.resources(i)
		s.pace(begin, i)
		n := stamp(i)
		if err := st.Send(&discovery.DiscoveryResponse{
			VersionInfo: strconv.Itoa(i), Nonce: n, TypeUrl: clusterType,
			ControlPlane: checksum(res), Resources: res,
		}); err != nil {
			return err
		}
		req, err := st.Recv()
		if err != nil {
			return err
		}
		if req.ResponseNonce != n || req.ErrorDetail != nil {
			s.nacks.Add(1)
		}
	}
	return nil
}

func (s *server) DeltaAggregatedResources(st discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	if _, err := st.Recv(); err != nil {
		return err
	}
	s.ready.Add(1)
	<-s.start
	begin := time.Now()
	for i := 1; i <= s.cfg.pushes; i++ {
		res := s.deltaResources(i)
		s.pace(begin, i)
		n := stamp(i)
		if err := st.Send(&discovery.DeltaDiscoveryResponse{
			SystemVersionInfo: strconv.Itoa(i), Nonce: n, TypeUrl: clusterType,
			ControlPlane: checksum(bodies(res)), Resources: res,
		}); err != nil {
			return err
		}
		req, err := st.Recv()
		if err != nil {
			return err
		}
		if req.ResponseNonce != n || req.ErrorDetail != nil {
			s.nacks.Add(1)
		}
	}
	return nil
}
