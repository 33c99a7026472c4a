package csds

import (
	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	maxAnswer = 64 << 20
	// waiting is how many of the largest answers may wait for their callers.
	waiting = 4
)

// budget is what an answer may still take, in bytes, and what it might at first.
type budget struct{ left, most int }

func (b *budget) take(n int) error {
	if b.left -= n; b.left < 0 {
		return status.Errorf(codes.ResourceExhausted,
			"the answer would be larger than %d bytes: ask for fewer nodes with node_matchers, or leave out contents with exclude_resource_contents", b.most)
	}
	return nil
}

// item puts a resource into words, and wants what the recording has of it.
func (r *rereader) item(i *item, bare bool, left *budget) *statusv3.ClientConfig_GenericXdsConfig {
	g := &statusv3.ClientConfig_GenericXdsConfig{TypeUrl: i.url, Name: i.name}
	g.ClientStatus, g.ConfigStatus = i.words()
	if h := i.held; h != nil {
		g.VersionInfo = h.Version
		r.want(h.Seq, i.method, func(f *found) (err error) {
			g.LastUpdated = timestamppb.New(f.at)
			if !bare {
				g.XdsConfig, err = left.content(f, i.name)
			}
			return err
		})
	}
	if i.failed != nil {
		g.ErrorState = r.failure(i, bare, left)
	}
	return g
}

// failure puts a rejection into words.
func (r *rereader) failure(i *item, bare bool, left *budget) *adminv3.UpdateFailureState {
	out := &adminv3.UpdateFailureState{VersionInfo: i.failed.version}
	if !i.failed.at.IsZero() {
		out.LastUpdateAttempt = timestamppb.New(i.failed.at)
	}
	r.want(i.failed.why, i.method, func(f *found) error {
		if f.m.Error != nil {
			out.Details = f.m.Error.Message
		}
		return left.take(len(out.Details))
	})
	if !bare {
		r.want(i.failed.with, i.method, func(f *found) (err error) {
			out.FailedConfiguration, err = left.content(f, i.name)
			return err
		})
	}
	return out
}

// content is that of a resource, if there is room for it.
func (b *budget) content(f *found, name string) (*anypb.Any, error) {
	a := f.resource(name)
	return a, b.take(len(a.GetValue()))
}
