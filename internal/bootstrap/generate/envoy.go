package generate

import (
	"errors"
	"slices"
	"strings"
)

// ErrNothingAsked says that no Envoy would ask for what the client asked for.
var ErrNothingAsked = errors.New("the recorded client asked for no clusters and no listeners on its own account, as every Envoy does")

// Envoy is a bootstrap for an Envoy that asks server, and answers at admin, which
// is none if it is empty.
func (c *Client) Envoy(server, admin string) ([]byte, error) {
	at, err := parse(server)
	if err != nil {
		return nil, err
	}
	node, err := c.node()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"id", "cluster"} { // without which Envoy asks for nothing
		if text, _ := node[name].(string); text == "" {
			node[name] = "xdsproxy-replay"
		}
	}
	own := "xdsproxy-replay" // the name of the cluster of the server
	for slices.ContainsFunc(c.Clusters, func(k Cluster) bool { return k.Name == own }) {
		own += "-"
	}
	http := c.http()
	clusters := []object{cluster(own, &at, http)}
	for _, k := range c.Clusters {
		if k.Server {
			clusters = append(clusters, cluster(k.Name, &at, http))
		} else {
			clusters = append(clusters, cluster(k.Name, nil, http))
		}
	}
	dynamic, layers := object{}, []object{}
	if c.ADS != ByADS {
		dynamic["ads_config"] = api(c.ADS, own)
	}
	for _, ask := range c.Asks {
		source := object{"resource_api_version": "V3", "ads": object{}}
		switch ask.API {
		case ByADS:
		case Polls:
			source = object{"resource_api_version": "V3", "api_config_source": c.REST.polling(own)}
		default:
			source = object{"resource_api_version": "V3", "api_config_source": api(ask.API, own)}
		}
		switch ask.Type {
		case "CDS", "LDS":
			typ := strings.ToLower(ask.Type)
			if len(ask.Names) > 0 {
				dynamic[typ+"_resources_locator"] = ask.Names[0]
				if ask.API == ByADS { // which collections are not asked of by "ads"
					source = object{"resource_api_version": "V3", "api_config_source": object{
						"api_type": "AGGREGATED_" + c.ADS, "transport_api_version": "V3",
					}}
				}
			}
			dynamic[typ+"_config"] = source
		case "RTDS":
			for _, name := range ask.Names {
				layers = append(layers, object{"name": name, "rtds_layer": object{"name": name, "rtds_config": source}})
			}
		case "EDS":
			for _, name := range ask.Names {
				clusters = append(clusters, object{"name": name, "type": "EDS", "eds_cluster_config": object{"eds_config": source}})
			}
		}
	}
	if len(c.Asks) == 0 {
		return nil, ErrNothingAsked
	}
	bootstrap := object{"node": node, "dynamic_resources": dynamic, "static_resources": object{"clusters": clusters}}
	if len(layers) > 0 {
		bootstrap["layered_runtime"] = object{"layers": layers}
	}
	if len(c.Context) > 0 {
		bootstrap["node_context_params"] = c.Context
	}
	if admin != "" {
		where, err := parse(admin)
		if err != nil {
			return nil, err
		}
		bootstrap["admin"] = object{"address": where.envoy()}
	}
	return written(bootstrap)
}

func api(how API, cluster string) object {
	return object{
		"api_type": how, "transport_api_version": "V3",
		"grpc_services": []object{{"envoy_grpc": object{"cluster_name": cluster}}},
		// A node may have 60 KB, most of it names of extensions.
		"set_node_on_first_message_only": true,
	}
}

// cluster is one that leads to at, or nowhere.
func cluster(name string, at *endpoint, http object) object {
	const options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
	endpoints := []object{}
	if at != nil {
		endpoints = append(endpoints, object{"lb_endpoints": []object{{"endpoint": object{"address": at.envoy()}}}})
	}
	return object{
		"name": name, "type": "STATIC", "connect_timeout": "5s",
		"typed_extension_protocol_options": object{options: object{
			"@type": "type.googleapis.com/" + options, "explicit_http_config": http,
		}},
		"load_assignment": object{"cluster_name": name, "endpoints": endpoints},
	}
}
