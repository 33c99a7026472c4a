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

// Before some words needs to be nothing. Others are the end of longer ones.
func TestJoinedKeys(t *testing.T) {
	for key, want := range map[string]bool{
		"PGPASSWORD": true, "dbpassword": true, "userpasswd": true, "accesstoken": true, "CLIENTSECRET": true, "x-clientsecret": true, "passWord": true, "PassWord2": true,
		"x-rapidapi-key": true, "XAPIKey": true, "privatekey": true, "AWSSECRETACCESSKEY": true, "tls.key": true, "mtlskey": true, "SECRET_KEY_BASE": true, "secretkeybase": true,
		"basicauth": true, "SENTRY_DSN": true, "Authentication": true, "x-honeycomb-team": true, "phpsessid": true, "MYSESSIONID": true, "dbpass": true, "DBPWD": true, "userpwd": true,
		"secretString": true, "SecretBinary": true, "privateKeyPem": true, "privatekeypem": true, "passwordplaintext": true, "dbpasswordhash": true, "token_pem": true, "jwtString": true,
		"nonsecret": false, "x-notsecret": false, "nopassword": false, "nosecret-value": false, "nosecretvalue": false, "non_secret": true,
		"oauth": false, "bypass": false, "compass": false, "xdsn": false, "forbearer": false, "jwtstring": false, "monkeydata": false, "wrappkey": false, "x-authentication": false,
		"tokenizer": false, "secretary": false, "tokenpath": false, "max_tokens": false, "token_bucket": false, "inline_string": false, "base64": false, "keystring": false,
		"forward_client_cert": false, "sds_secret_config": false, "string": false, "pem": false, "hash": false, "passworD": false, "tlske-y": false, "value": false, "a.pem": false,
	} {
		if IsKey([]byte(key)) != want {
			t.Errorf("%s is secret: %v", key, !want)
		}
		if want && (!secretKey([]byte("Z"+key), true) || !secretKey([]byte("9"+key), true)) {
			t.Errorf("%s is not seen after a letter", key)
		}
		if ends := endsLikeKey([]byte(key+"="), len(key)); want && !ends {
			t.Errorf("%s does not end like a key", key)
		}
	}
}

// The name of a file that holds a key is none.
func TestKeyFiles(t *testing.T) {
	for text, want := range map[string]bool{
		"--tls-key server.pem x": false, "--tls-key=certs/server.key": false, `tls_key: "server.pem"`: false, "db:\n  tls.key: a.key\n": false,
		"--tls-key serverpem1 x": true, "password=server.key": true, `privateKey="server.crt1"`: true, "--token a1.pem x": true,
	} {
		var f found
		if Each([]byte(text), &f); len(f.secrets) > 0 != want {
			t.Errorf("%q has %q", text, f.secrets)
		}
	}
}
