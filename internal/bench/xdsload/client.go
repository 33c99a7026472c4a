package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// sotw acknowledges every response of one stream until the server ends it.
func (f *fleet) sotw(ctx context.Context, cl discovery.AggregatedDiscoveryServiceClient, node *corev3.Node, latencies *[]int64) error {
	st, err := cl.StreamAggregatedResources(ctx)
	if err != nil {
		return err
	}
	if err := st.Send(&discovery.DiscoveryRequest{Node: node, TypeUrl: clusterType}); err != nil {
		return err
	}
	for {
		m, err := st.Recv()
		if err != nil {
			return err
		}
		*latencies = append(*latencies, time.Now().UnixNano()-sentAt(m.Nonce))
		if sum(m.Resources) != m.GetControlPlane().GetIdentifier() {
			f.bad.Add(1)
		}
		f.got.Add(1)
		ack := &discovery.DiscoveryRequest{VersionInfo: m.VersionInfo, ResponseNonce: m.Nonce, TypeUrl: clusterType}
		if err := st.Send(ack); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// delta is sotw over incremental ADS.
func (f *fleet) delta(ctx context.Context, cl discovery.AggregatedDiscoveryServiceClient, node *corev3.Node, latencies *[]int64) error {
	st, err := cl.DeltaAggregatedResources(ctx)
	if err != nil {
		return err
	}
	if err := st.Send(&discovery.DeltaDiscoveryRequest{Node: node, TypeUrl: clusterType}); err != nil {
		return err
	}
	for {
		m, err := st.Recv()
		if err != nil {
			return err
		}
		*latencies = append(*latencies, time.Now().UnixNano()-sentAt(m.Nonce))
		if sum(bodies(m.Resources)) != m.GetControlPlane().GetIdentifier() {
			f.bad.Add(1)
		}
		f.got.Add(1)
		ack := &discovery.DeltaDiscoveryRequest{ResponseNonce: m.Nonce, TypeUrl: clusterType}
		if err := st.Send(ack); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// sentAt is the sending time that stamp put into a nonce.
func sentAt(nonce string) int64 {
	_, ns, _ := strings.Cut(nonce, "-")
	v, _ := strconv.ParseInt(ns, 10, 64)
	return v
}
