package bootstrap

import "testing"

func TestAdmin(t *testing.T) {
	for text, want := range map[string]string{
		"static_resources: {}": "",
		"{static_resources: {}, admin: {address: {socket_address: {address: 127.0.0.1, port_value: 9901}}}}":     "127.0.0.1:9901",
		"{static_resources: {}, admin: {address: {socket_address: {address: 0.0.0.0, port_value: \"0x26ad\"}}}}": "127.0.0.1:9901",
		"{static_resources: {}, admin: {address: {socket_address: {address: \"::\", port_value: 9901}}}}":        "[::1]:9901",
		"{staticResources: {}, admin: {address: {socketAddress: {address: localhost, portValue: 1}}}}":           "localhost:1",
		"{static_resources: {}, admin: {address: {pipe: {path: /run/admin.sock}}}}":                              "unix:/run/admin.sock",
		"{static_resources: {}, admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}}":        " free",
		"{static_resources: {}, admin: {address: {socket_address: {address: 127.0.0.1}}}}":                       " free",
		"{static_resources: {}, admin: {address: {socket_address: {address: 127.0.0.1, port_value: 99999}}}}":    "",
		"{static_resources: {}, admin: {address: {socket_address: {address: 127.0.0.1, port_value: web}}}}":      "",
		"{static_resources: {}, admin: [], dynamic_resources: {}}":                                               "",
	} {
		d, err := Parse("bootstrap.yaml", []byte(text), nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, free := d.Admin()
		if free {
			got += " free"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
