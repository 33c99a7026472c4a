package main

import (
	"path"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// names is a list of full names of fields or types. A name that begins with a
// dot stands for all that end so, whatever their package and version; * stands
// for any one part or a part of it.
type names []string

func (n names) match(name protoreflect.FullName) bool {
	return n.find(name) >= 0
}

func (n names) find(name protoreflect.FullName) int {
	have := strings.Split(string(name), ".")
	for i, pattern := range n {
		if n.one(pattern, have) {
			return i
		}
	}
	return -1
}

func (names) one(pattern string, have []string) bool {
	want := strings.Split(strings.TrimPrefix(pattern, "."), ".")
	if pattern[0] == '.' && len(want) < len(have) {
		have = have[len(have)-len(want):]
	}
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if ok, _ := path.Match(want[i], have[i]); !ok {
			return false
		}
	}
	return true
}

// secret are the fields that hold secrets without being marked as sensitive.
var secret = names{
	".CallCredentials.access_token",
	".CallCredentials.google_refresh_token",
	".GoogleIAMCredentials.authorization_token",
	".ServiceAccountJWTAccessCredentials.json_key",
	".AccessTokenCredentials.token",
	".GoogleIamCredentials.authorization_token",
	".GoogleRefreshTokenCredentials.token",
	".ServiceAccountJwtAccessCredentials.json_key",
	".LightstepConfig.access_token",
	"envoy.extensions.filters.http.aws_lambda.v3.Credentials.secret_access_key",
	"envoy.extensions.filters.http.aws_lambda.v3.Credentials.session_token",
	".RedisProxyExternalAuthRequest.password",
	".CheckSettings.context_extensions", // marked in version 3 only
	".GenericSecret.secrets",
}

// public are the fields that stay readable even inside something secret: they
// say where a secret is kept or whose it is.
var public = names{
	".core.DataSource.filename",
	".core.v3.DataSource.filename",
	".core.v3.DataSource.environment_variable",
	".core.v3.DataSource.watched_directory",
	".WatchedDirectory.path",
	".TlsCertificate.watched_directory",
	".PrivateKeyProvider.provider_name",
	".SdsSecretConfig.name",
	".SdsSecretConfig.sds_config",
	"envoy.extensions.filters.http.api_key_auth.v3.Credential.client",
}

// jwks are the data sources that hold key sets. The public keys in them stay
// readable, symmetric and private ones do not.
var jwks = names{".local_jwks"}

// loose are the fields whose text is somebody else's configuration, often in
// JSON: it is looked into.
var loose = names{
	".DataSource.inline_string",
	".DataSource.inline_bytes",
	"google.protobuf.StringValue.value",
	"google.protobuf.BytesValue.value",
	"google.protobuf.Value.string_value",
	".ControlPlane.identifier",
	"google.rpc.Status.message",
}

// unnamed are the types whose keys do not say what their values hold: they are
// names of resources, or of what tells variants of one apart.
var unnamed = names{
	".InitialResourceVersionsEntry",
	".ContextParams.ParamsEntry",
	".DynamicParameterConstraints.SingleConstraint",
}

// namedByHand are the types whose key or name says what the other fields hold,
// though no field of them is called value.
var namedByHand = names{
	".route.HeaderMatcher", ".route.v3.HeaderMatcher",
	".route.QueryParameterMatcher", ".route.v3.QueryParameterMatcher",
	".CookieMatcher",
}
