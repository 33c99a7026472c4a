package bootstrap

import "go.yaml.in/yaml/v3"

// google is a server that Envoy reaches with gRPC's own client.
func (s *search) google(service, target *yaml.Node, use Use) {
	server := toTarget(target)
	server.Uses = []Use{use}
	creds := given(service, "channel_credentials")
	ssl := given(creds, "ssl_credentials")
	switch {
	case server.Obstacle != nil:
	case len(items(field(service, "channel_credentials_plugin"))) > 0:
		server.Obstacle = &Obstacle{Why: "its credentials come from a plugin"}
	case text(field(service, "credentials_factory_name")) != "":
		server.Obstacle = &Obstacle{Why: "its credentials come from an extension"}
	case given(creds, "google_default") != nil:
		server.Obstacle = googleDefault()
	case ssl != nil:
		server.Obstacle = server.ssl(service, ssl)
	case given(creds, "local_credentials") != nil && !server.Unix():
		server.Obstacle = &Obstacle{Why: "local credentials are bound to the connection"}
	}
	s.add(server)
}

// ssl reads SslCredentials.
func (s *Server) ssl(service, ssl *yaml.Node) *Obstacle {
	if len(items(field(service, "call_credentials"))) > 0 {
		return secured("it has call_credentials, which a client sends by TLS only")
	}
	t := &TLS{Host: text(field(argument(service, "grpc.ssl_target_name_override"), "string_value"))}
	err := only(ssl, "ssl_credentials", "root_certs", "private_key", "cert_chain")
	if err == nil {
		t.CA, err = material(field(ssl, "root_certs"), "root_certs")
	}
	if err == nil {
		t.Key, err = material(field(ssl, "private_key"), "private_key")
	}
	if err == nil {
		t.Cert, err = material(field(ssl, "cert_chain"), "cert_chain")
	}
	if err == nil && t.Cert.Given() != t.Key.Given() {
		err = unreadf("of its certificate and its key there is only one")
	}
	if err != nil {
		return secured(err.Error())
	}
	s.secure(t, func() { remove(service, "channel_credentials") })
	return nil
}

// argument is a channel argument of gRPC's client.
func argument(service *yaml.Node, name string) *yaml.Node {
	return member(field(field(service, "channel_args"), "args"), name)
}
