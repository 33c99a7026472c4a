package secrets

import (
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	for text, want := range map[string]bool{"--password": true, "--db-password": true, "-p": false, "--": false, "-": false, "password": false, "": false, "--token=x": false} {
		if got := IsFlag([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestSchemes(t *testing.T) {
	for text, want := range map[string]string{"Bearer abc": "Bearer ", "Basic dXNlcjpwYXNz": "Basic ", "bearer abc": "bearer ", "": "", "hello": "", "abc": "", "Digest username=x": "Digest "} {
		if got := Scheme(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{"apiKey": "apikey", "API-KEY": "api-key", "api.key": "api.key", "a": "a", "": ""} {
		if got := Canonical(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestCredentials(t *testing.T) {
	for text, want := range map[string]bool{"authorization": true, "Authorization": true, "cookie": true, "set-cookie": true, "x-api-key": true, "proxy-authorization": true, "content-type": false, "user-agent": false, "": false} {
		if got := IsCredential(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTexts(t *testing.T) {
	for text, want := range map[string]bool{
		"password=hunter2secret": true, "password: hunter2secret": true, `{"password":"hunter2secret"}`: true, "--password hunter2secret": true,
		"https://user:hunter2@example.com/": true, "https://example.com:8080/path": false, "Authorization: Bearer abcdefghijklmnop": true,
		"-----BEGIN PRIVATE KEY-----": true, "-----BEGIN RSA PRIVATE KEY-----": true, "-----BEGIN CERTIFICATE-----": false,
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U": true,
		"ghp_abcdefghijklmnopqrstuvwxyz0123456789":                                                     true,
		"outbound|8080||reviews.default.svc.cluster.local":                                             false, "max_tokens=10": false, "x eyJhbGciO.abc.def": false, "": false, "hello": false, "token_path=/var/run/token": false,
	} {
		if got := In([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A value that consists of command operators holds nothing by itself.
func TestCommands(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "%AB%": true, "%AB(x)%": true, "%AB:x%": true, "%AB%%C_D(a:b)%": true,
		"%A%": false, "%%": false, "%ABx%": false, "%(x)%": false, "AB": false, "%AB": false, "%": false, "%AB%x": false, "x%AB%": false, "%AB% %CD%": false,
	} {
		if IsCommand([]byte(text)) != want {
			t.Errorf("%q is a command: %v", text, !want)
		}
	}
}

// What ends a value, and what goes on with it.
func TestEndsOfValues(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " x": true, "\n": true, "\x00": true, `"x`: true, "'x": true, "a=b": true, "a%20b=": true, "a b=c": true,
		"=b": false, "a": false, "a;b": false, "a!=b": false, "!": false, strings.Repeat("k", maxKey-1) + "=": true, strings.Repeat("k", maxKey) + "=": false,
	} {
		if endsValue([]byte(text)) != want {
			t.Errorf("%.20q ends a value: %v", text, !want)
		}
	}
}
