package mask_test

import (
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// soundsSecret are the words by which a field draws suspicion.
var soundsSecret = regexp.MustCompile(`passw|passphrase|secret|token|private_key|credential|hmac|auth|jwt|jwk|pkcs|ticket|salt|json_key|access_key|api_key|session_id|cookie|assertion|saml|bearer|users`)

func looksSecret(fd protoreflect.FieldDescriptor) bool {
	return soundsSecret.MatchString(string(fd.Name()))
}

// holdsTextItself says whether a field holds text of any kind, rather than a
// message whose own fields have names that tell more.
func holdsTextItself(fd protoreflect.FieldDescriptor) bool {
	if fd.IsMap() {
		return holdsTextItself(fd.MapValue())
	}
	if m := fd.Message(); m != nil {
		switch m.Name() {
		case "DataSource", "Any", "Struct", "Value", "StringValue", "BytesValue", "HeaderValue":
			return true
		}
		return false
	}
	return fd.Kind() == protoreflect.StringKind || fd.Kind() == protoreflect.BytesKind
}

func holdsText(fd protoreflect.FieldDescriptor, seen map[protoreflect.FullName]bool) bool {
	if holdsTextItself(fd) {
		return true
	}
	m := fd.Message()
	if m == nil || seen[m.FullName()] {
		return false
	}
	seen[m.FullName()] = true
	for i := range m.Fields().Len() {
		if holdsText(m.Fields().Get(i), seen) {
			return true
		}
	}
	return false
}

// review says of fields that sound secret why they are not. Names are matched
// from the end; "*" stands for any part of a name.
type review struct {
	fields, because string
}

func (r review) match(name protoreflect.FullName) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(r.fields), `\*`, `[^.]*`)
	ok, _ := regexp.MatchString(`(^|\.)`+pattern+`$`, string(name))
	return ok
}

const (
	reference  = "names a secret that comes by SDS"
	container  = "a message whose own fields are judged one by one"
	fieldName  = "names a header, cookie, query parameter or metadata key, not its value"
	address    = "an address, an authority or a name of a cluster"
	path       = "a file name"
	tokenType  = "a kind of token, an URN"
	identity   = "says who, not by what they prove it"
	policy     = "rules about credentials, no credentials"
	statistics = "numbers and words about what happened"
	envelope   = "an Any of a Secret, which is masked as such"
	code       = "configuration or a program; what looks like a secret in it is masked"
)

var notSecret = []review{
	{"CommonTlsContext.*sds_secret_config*", reference},
	{"CombinedCertificateValidationContext.*sds_secret_config", reference},
	{"DownstreamTlsContext.session_ticket_keys_sds_secret_config", reference},
	{"OAuth2Credentials.hmac_secret", reference},
	{"OAuth2Credentials.token_secret", reference},
	{"golang.v3alpha.Config.generic_secrets", reference},
	{"SXG.private_key", reference},
	{"generic_secret.v3.GenericSecret.secret_configs", reference},
	{"injected_credentials.generic.v3.Generic.credential", reference},
	{"ClientCredentials.client_secret", reference},
	{"on_demand_secret.v3.Config.prefetch_secret_names", reference},

	{"SecretsConfigDump.*Secret.secret", envelope},
	{"SecretsConfigDump.*secrets", container},
	{"Bootstrap.StaticResources.secrets", container},
	{"DownstreamTlsContext.session_ticket_keys", container},
	{"Secret.generic_secret", container},
	{"Secret.session_ticket_keys", container},
	{"TlsCertificate.private_key_provider", container},
	{"CallCredentials.service_account_jwt_access", container},
	{"GoogleGrpc.call_credentials", container},
	{"GoogleGrpc.call_credentials_plugin", envelope},
	{"GoogleGrpc.channel_credentials", container},
	{"GoogleGrpc.channel_credentials_plugin", envelope},
	{"ChannelCredentials.*_credentials", container},
	{"XdsCredentials.fallback_credentials", envelope},
	{"aws_lambda.v3.Config.credentials", container},
	{"AwsCredentialProvider.*", container},
	{"*.credential_provider", container},
	{"CredentialInjector.credential", container},
	{"Audience.access_token", container},
	{"Audience.bound_access_token", container},
	{"Audience.bound_jwt", container},
	{"Audience.iam_access_token", container},
	{"OAuth2Config.credentials", container},
	{"OAuth2Config.cookie_configs", container},
	{"OAuth2.client_credentials", container},
	{"RedisProtocolOptions.credentials", container},
	{"RedisProxy.external_auth_provider", container},

	{"GoogleGrpc.credentials_factory_name", address},
	{"*.authority", address},
	{"*.authorities", address},
	{"*.authority_selector", address},
	{"*.token_exchange_service_uri", address},
	{"*.token_endpoint", address},
	{"*.authorization_endpoint", address},
	{"ClientSSLAuth.auth_api_cluster", address},
	{"*.actor_token_path", path},
	{"*.subject_token_path", path},
	{"LightstepConfig.access_token_file", path},
	{"*.actor_token_type", tokenType},
	{"*.subject_token_type", tokenType},
	{"*.requested_token_type", tokenType},

	{"*.access_key_id", identity},
	{"*.credentials_profile", identity},
	{"McpRouter.session_identity", identity},
	{"Principal.authenticated", identity},
	{"TLSProperties.tls_session_id", identity},

	{"HashPolicy.cookie", fieldName},
	{"CookieBasedSessionState.cookie", fieldName},
	{"RouteMatch.cookies", container},
	{"KeySource.cookie", fieldName},
	{"Config.Rule.cookie", fieldName},
	{"jwt_claim.v3.Descriptor.cookie", fieldName},
	{"JwtProvider.from_cookies", fieldName},
	{"*.authentication_header", fieldName},
	{"*.token_header", fieldName},
	{"GcpAuthnFilterConfig.token_metadata_key", fieldName},
	{"OAuth2Credentials.cookie_names", fieldName},
	{"OAuth2Credentials.CookieNames.*", fieldName},
	{"OAuth2Credentials.cookie_domain", address},
	{"OAuth2Config.forward_id_token", fieldName},
	{"CookieConfigs.*_cookie_config", fieldName},

	{"OAuth2Config.auth_scopes", policy},
	{"OAuth2Config.private_key_jwt_config", policy},
	{"OAuth2Config.token_cookie_chunking", policy},
	{"PrivateKeyJwtConfig.assertion_audience", policy},
	{"HttpService.authorization_request", container},
	{"HttpService.authorization_response", container},
	{"IAMAccessToken.authorization", policy},
	{"*.jwt_cache_config", policy},
	{"*.local_jwks", "public keys; the secret ones in it are masked by a rule of their own"},
	{"*.remote_jwks", address},
	{"ReverseTunnel.jwt_validator", policy},
	{"Workload.authorization_policies", policy},
	{"ResponseFlags.unauthorized_details", statistics},
	{"TokenUsage.*_token_details", statistics},
	{"ResponseHandling.token_usage", statistics},
	{"RequestInfo.token_estimation", statistics},
}
