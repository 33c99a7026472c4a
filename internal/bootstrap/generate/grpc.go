package generate

// ForGRPC is a bootstrap for a gRPC program that asks server.
func (c *Client) ForGRPC(server string) ([]byte, error) {
	at, err := parse(server)
	if err != nil {
		return nil, err
	}
	node, err := c.node()
	if err != nil {
		return nil, err
	}
	bootstrap := object{"node": node, "xds_servers": []object{{
		"server_uri":      at.grpc(),
		"channel_creds":   []object{{"type": "insecure"}},
		"server_features": []string{"xds_v3"},
	}}}
	authorities := object{}
	for _, name := range c.Authorities {
		authorities[name] = object{} // they are asked of the same server
	}
	if len(authorities) > 0 {
		bootstrap["authorities"] = authorities
	}
	return written(bootstrap)
}
