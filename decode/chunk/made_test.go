package chunk

import "github.com/xdsproxy/xdsproxy/decode/handmade"

const (
	adsPath      = handmade.ADSPath
	deltaADSPath = handmade.DeltaADSPath
	clusterURL   = handmade.ClusterURL
)

var msg, str, sub, num, anyOf = handmade.Msg, handmade.Str, handmade.Sub, handmade.Num, handmade.AnyOf
