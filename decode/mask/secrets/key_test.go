package secrets

import (
	"strings"
	"testing"
)

func TestSecretKeys(t *testing.T) {
	for _, key := range []string{"password", "PASSWORD", "clientSecret", "client_secret", "apiKey", "api-key", "x.token", "DB_PASSWD", "authorization", "awsSecretAccessKey", "private_key", strings.Repeat("a-", 125) + "-token"} {
		if !IsKey([]byte(key)) {
			t.Errorf("%s is not secret", key)
		}
	}
	for _, key := range []string{"", "a", "secret_name", "token_path", "tokens_per_fill", "max_tokens", "author", "key", "keyboard", "passwordless", "oauth2_scopes", "ISTIO_VERSION", "jw", strings.Repeat("a-", 125) + "a-token"} {
		if IsKey([]byte(key)) {
			t.Errorf("%s is secret", key)
		}
	}
}
