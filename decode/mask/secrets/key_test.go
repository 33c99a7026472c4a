package secrets

import (
	"strings"
	"testing"
)

func TestSecretKeys(t *testing.T) {
	for _, key := range []string{"password", "PASSWORD", "clientSecret", "client_secret", "apiKey", "api-key", "x.token", "DB_PASSWD", "authorization", "awsSecretAccessKey", "private_key", "schemaToken", "quizToken", "v0Token", "v9Token", "password0", "password2", "password9", "token_10", "PASSWORD_2", "jwt1", "psk2", "auth", "password_value", "passwordHash", "secret-b64", "AUTHORIZATION", "-password-value", strings.Repeat("a-", 125) + "-token"} {
		if !IsKey([]byte(key)) {
			t.Errorf("%s is not secret", key)
		}
	}
	for _, key := range []string{"", "a", "secret_name", "token_path", "tokens_per_fill", "max_tokens", "author", "key", "keyboard", "passwordless", "oauth2_scopes", "ISTIO_VERSION", "jw", "auth0", "oauth2", "x-auth-2", "xToken_name", "123", "-value", "passworD", strings.Repeat("a-", 125) + "a-token"} {
		if IsKey([]byte(key)) {
			t.Errorf("%s is secret", key)
		}
	}
}
