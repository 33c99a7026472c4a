package pseudonym

// schemes begin URLs, and names as the protocol forms them.
var schemes = map[string]bool{
	"xdstp": true, "http": true, "https": true, "grpc": true, "grpcs": true, "spiffe": true, "unix": true, "file": true, "dns": true,
	"tcp": true, "udp": true, "tls": true, "xds": true, "kubernetes": true, "ipv4": true, "ipv6": true, "google-c2p": true,
}

// forms are parts of names that tell how they are built: those of Istio
// (pilot/pkg/model, pkg/config/host), Kubernetes and gRPC.
var forms = []string{
	"outbound|", "inbound|", "inbound-vip|", "outbound_.", "inbound_.", "sidecar~", "router~", "waypoint~", "ztunnel~", "ingress~",
	"svc.cluster.local", "mmdb", "type.googleapis.com/", "goo.gle/debugproto", "goo.gle/debugstr", "goo.gle/debugonly", "unix:", "dns:", "xdstp:",
}

// wholeValues stay where they are a whole value.
const wholeValues = `
	* / true false null none http https grpc tcp udp tls h2 h2c h3 http/1.0 http/1.1 quic websocket CONNECT connect-udp
	GET HEAD POST PUT PATCH DELETE OPTIONS TRACE
	trailers gzip identity deflate br zstd snappy
	application/grpc application/grpc+proto application/json application/x-protobuf application/octet-stream text/plain text/html
	identity,deflate,gzip identity,gzip gzip,deflate
	envoy grpc-go grpc-java grpc-core grpc-js grpc-c grpc-node-js envoy.reloadable_features
	istio istio-peer-exchange istio-http/1.0 istio-http/1.1 istio-h2
	virtualInbound virtualOutbound PassthroughCluster BlackHoleCluster InboundPassthroughCluster InboundPassthroughClusterIpv4
	ROOTCA sds-grpc xds-grpc xds xds_cluster ads_cluster local_agent prometheus_stats
	GENERATOR CLUSTER_ID NAMESPACE NAME LABELS ANNOTATIONS INSTANCE_IPS ISTIO_VERSION ISTIO_PROXY_SHA ISTIO_META PROXY_CONFIG
	SERVICE_ACCOUNT WORKLOAD_NAME MESH_ID OWNER POD_PORTS APP_CONTAINERS INTERCEPTION_MODE NETWORK PILOT_SAN PROV_CERT
	PLATFORM_METADATA ENVOY_STATUS_PORT ENVOY_PROMETHEUS_PORT NODE_NAME STS_PORT UNPRIVILEGED_POD METADATA_DISCOVERY
	filter_metadata typed_filter_metadata com.google.trafficdirector
	build.type revision.sha revision.status ssl.version RELEASE Clean Modified BoringSSL
	xds.config.resource-in-sotw xds.config.resource-in-delta envoy.lb.does_not_support_overprovisioning
	app version canonical-name canonical-revision
	app.kubernetes.io/name app.kubernetes.io/version app.kubernetes.io/instance app.kubernetes.io/component app.kubernetes.io/part-of
	service.istio.io/canonical-name service.istio.io/canonical-revision security.istio.io/tlsMode topology.istio.io/network
	kubernetes.io/arch kubernetes.io/os topology.kubernetes.io/region topology.kubernetes.io/zone
	/dev/stdout /dev/stderr /dev/null
	/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem /etc/ssl/ca-bundle.pem
	gateway-error 5xx retriable-4xx refused-stream retriable-status-codes retriable-headers connect-failure reset reset-before-request
	cancelled deadline-exceeded internal resource-exhausted unavailable envoy-ratelimited http3-post-connect-failure
	ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-RSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-RSA-AES256-GCM-SHA384
	ECDHE-ECDSA-CHACHA20-POLY1305 ECDHE-RSA-CHACHA20-POLY1305 ECDHE-ECDSA-AES128-SHA ECDHE-RSA-AES128-SHA ECDHE-ECDSA-AES256-SHA
	ECDHE-RSA-AES256-SHA AES128-GCM-SHA256 AES256-GCM-SHA384 AES128-SHA AES256-SHA DES-CBC3-SHA
	[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305] [ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]
	TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256
	TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
	TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
	ecdsa_secp256r1_sha256 ecdsa_secp384r1_sha384 ecdsa_secp521r1_sha512 ed25519 rsa_pss_rsae_sha256 rsa_pss_rsae_sha384 rsa_pss_rsae_sha512
	rsa_pkcs1_sha256 rsa_pkcs1_sha384 rsa_pkcs1_sha512 rsa_pkcs1_sha1 ecdsa_sha1
	RSA EC OKP oct RS256 RS384 RS512 ES256 ES384 ES512 PS256 PS384 PS512 HS256 HS384 HS512 EdDSA Ed25519 AQAB sig
	P-256 P-384 P-521 X25519 X25519MLKEM768 P256 P384
`

// headerNames are header fields that standards, gRPC, Envoy and Istio define.
const headerNames = `
	:authority :method :path :scheme :status :protocol :event :from
	accept accept-charset accept-encoding accept-language accept-ranges access-control-allow-credentials access-control-allow-headers
	access-control-allow-methods access-control-allow-origin access-control-expose-headers access-control-max-age
	access-control-request-headers access-control-request-method age allow alt-svc authorization cache-control connection
	content-disposition content-encoding content-language content-length content-location content-range content-security-policy content-type
	cookie date etag expect expires forwarded from host if-match if-modified-since if-none-match if-range if-unmodified-since
	keep-alive last-modified link location max-forwards origin pragma proxy-authenticate proxy-authorization range referer retry-after
	server set-cookie strict-transport-security te trailer transfer-encoding upgrade user-agent vary via www-authenticate
	x-content-type-options x-frame-options x-powered-by x-request-id x-real-ip x-requested-with
	grpc-accept-encoding grpc-encoding grpc-message grpc-message-type grpc-status grpc-status-details-bin grpc-timeout grpc-trace-bin
	grpc-tags-bin grpc-previous-rpc-attempts grpc-retry-pushback-ms grpc-web grpc-server-stats-bin
	x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto x-forwarded-client-cert x-forwarded-prefix
	x-b3-traceid x-b3-spanid x-b3-parentspanid x-b3-sampled x-b3-flags b3 traceparent tracestate x-ot-span-context x-client-trace-id
	x-cloud-trace-context x-envoy-attempt-count x-envoy-decorator-operation x-envoy-downstream-service-cluster
	x-envoy-downstream-service-node x-envoy-expected-rq-timeout-ms x-envoy-external-address x-envoy-force-trace
	x-envoy-hedge-on-per-try-timeout x-envoy-immediate-health-check-fail x-envoy-internal x-envoy-ip-tags x-envoy-is-timeout-retry
	x-envoy-local-overloaded x-envoy-max-retries x-envoy-original-dst-host x-envoy-original-host x-envoy-original-method
	x-envoy-original-path x-envoy-origin-path x-envoy-overloaded x-envoy-peer-metadata x-envoy-peer-metadata-id x-envoy-ratelimited
	x-envoy-retriable-header-names x-envoy-retriable-status-codes x-envoy-retry-grpc-on x-envoy-retry-on x-envoy-upstream-alt-stat-name
	x-envoy-upstream-canary x-envoy-upstream-healthchecked-cluster x-envoy-upstream-rq-per-try-timeout-ms
	x-envoy-upstream-rq-timeout-alt-response x-envoy-upstream-rq-timeout-ms x-envoy-upstream-service-time x-envoy-upstream-stream-duration-ms
	x-istio-attributes x-accel-buffering x-goog-request-params client-fields clusterid
`

// plainHeaders are those whose values say nothing of anybody.
var plainHeaders = set(`:event :method :scheme :status content-type content-length te date grpc-encoding grpc-accept-encoding accept-encoding grpc-timeout
	grpc-status accept cache-control connection transfer-encoding vary retry-after age content-encoding x-envoy-upstream-service-time keep-alive
	x-content-type-options trailer upgrade grpc-previous-rpc-attempts grpc-retry-pushback-ms`)

// englishWords are words of the errors of clients and servers, of gRPC, of Go,
// C++ and Java, of Lua and CEL, and of what xdsproxy itself says. A word that is
// missing is replaced, and can be translated back.
const englishWords = `
	a about above absent accept accepted access according ack acked acks across active actual add added adding additional address addresses adds after again
	against agent all allow allowed almost already also although always am ambient an and another any anything apart api apis app appear application applied apply
	are argument arguments array as asked assigned async at attempt attempted attempts authenticate authenticated authentication authority available await
	back backend bad balancer bar base basic be because become been before begin beginning begins behind being below beside between beyond bind binding blank block blocked
	body bootstrap both break broken buffer build but by byte bytes c ca cache cached call called came can cancel cancelled canceled cannot canonical capital case cause
	caused cds cert certificate certificates chain chains change changed changes channel char character characters check checks choose cleanly clear client clients clock close closed
	closes closing cluster clusters code come comes coming command common complete completed config configuration configure configured conflict conflicting conn connect
	connected connecting connection connections consider constraint consul contain contained containing contains content context control conversation convert core could
	count crc create created creating ctx cur current currently cycle data database deadline debug declared decode decoded decoding decompress default defaults defined delete deleted delta
	denied deny deprecated describe description descriptor detail details detected dial dialing did differ difference different differently directory disabled disallowed disconnect
	discarded discovery dns do documents does done down downstream drain draining drop dropped due duplicate duplicated duplicates duration during each early eds either element elements else
	elseif empty enable enabled encoding encountered end ended ending endpoint endpoints ends enough entries entry enum envoy eof equal err error errors etc even event ever every exact exactly
	exceed exceeded exceeds except exception exec exist existing exists expect expected expecting expired explain extension extensions external extra fail failed failing fails failure
	false fatal fetch few field fields file files filter filters final find finds finished first fixed flags flow follow following follows for forbidden force form format found frame frames from full
	function further future gap gateway gave generate generated generator get gets given gives go goaway goes going gone google got grpc had half handle handler handshake has
	hash have having header headers health healthy held here hint hold holds host hostname hosts how however http https i id identical identity ids if ignore ignored ignoring illegal immediately
	implement implementation implemented import in inbound incl include included includes including incomplete incompatible inconsistent incorrect index initial initialization inline inner
	input inside instance instead insufficient int integer interface internal interrupted into invalid io ip ipairs ipv4 ipv6 is issue issued istio it item items its itself
	java javascript json js just keep keepalive keeps kept key keys kind knew know known knows kubernetes large largest last late later latest lb lds leaf least left length less let level like likely limit limited line lines
	link linux list listen listener listeners listening little load loaded local locality localities localhost locator log logs long longer look looks lost lower lua made main make makes making malformed manage
	management manager many mark marked mask masked match matched matches matching math max maximum may me mean means memory mesh message messages met method might minimum mint mismatch misses missing
	mode more most move moved much multiple must mutual my n nack nacked name named names namespace near nearly need needed needs negative nested netty network never new newer next nil no node nodejs nodes non nonce
	nonces none nor normal not note nothing notice now number numbers object obtain of off offset often ok old older on once one ones only open opened opening operation operations opt option options or order other
	others otherwise our out outbound outdated outer outgoing outside over overflow override own packet page pair pairs param parameter parameters parse parsed parser parsing part parts pass passed path paths pattern
	payload peer pending per percent perhaps period permission permitted pick picked pilot pipe plain plaintext play please plugin point policies policy pool port ports position positive possible
	pprint prefix present preferred previous primary print printed priorities priority probably problem problems process processing produced program progress properties property proto protobuf protocol provide provided provider
	proxy public push put python queue quoted random range rather ratio raw rds reach reached read reader reading ready really reason reasons receive received recent recorded recording recv redirect reference
	referenced references refers refresh refused refuses regex regexp register registered reject rejected rejection related released relevant reload remain remaining remains remote remove removed
	removes rename repeated replace replaced report reports request requested requests require required requires reserved reset resolve resolved resolver resource resources respond response
	responses rest restart restarted restarting result results retry retries return returned returns right ring role root round route router routes routing rpc rtds rule rules run running runtime rust s safe said same say says scan schema scope scoped script
	sds search second seconds secret secrets section secure security see seen select selected self send sender sending sends sense sent separate sequence serialize server servers service services
	session set sets setting settings several shall short should show shown shut shutdown side sidecar signed similar simple since single size skip skipped skipping slot small so socket some
	something sotw source sparse specific specified specifies specify spiffe split stale stand standard start started starting starts state static stats status step still stop stopped store stored stream streaming
	streams strict string strings struct sub subject subscribe subscribed subscription subscriptions subset succeeded success such supplied support supported supports suffix sum sure sync syntax system t table take taken takes target tcp
	temporarily terminated test text than that the their them then there therefore these they thing things this those though threshold through throw time timed timeout timeouts times timestamp tls to
	together token too took top total trailer trailers transport tree tried true trust trusted try trying turn twice two type typed types udp unable unary unauthenticated unavailable unchanged under undefined unexpected
	unhealthy unimplemented union unique unit unix unknown unless unlike unmarshal unmarshaling unnamed unparseable unreachable unrecognized unresolved unset unsubscribe unsupported until unused up update updated updates updating upgrade upstream url us use used user uses using usually valid
	validate validated validating validation validator value values var verified verify version versions very via virtual vs wait waited waiting waits want wanted wants warming warn warning was watch watched watcher way we weight weighted well went were what
	when where whether which while who whole whose why width wild wildcard will wire with within without word words work works would write writing written wrong wrote xds xdsproxy xdstp yaml yes yet you your zero zone ztunnel
	maglev envoyproxy websocket boringssl openssl grpclb pgv hpack mTLS proto2 proto3 rst sni alpn ciphers cipher mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep oct nov dec gmt utc
	unbind errno econnrefused econnreset epipe enoent eacces closedchannelexception statusruntimeexception ioexception illegalargumentexception nullpointerexception npe goroutine panic
	request_handle response_handle string_view invoked uninitialized mandatory prepended ambiguous exclusive mutually greater regardless cardinality deserialize deserialization malformedurl unspecified
	datacenter loadbalancing semantic semantics nonexistent overlaps overlapping invalidated stat stats repeats accordingly dependency depends anymore nothing's isn doesn didn couldn wasn aren don won cant
	lookup multi eager lazy passthrough blackhole bogus dead alive upper bound bounds outlier ejected drained warmed warm pem der x509 pkcs rsa ecdsa
	acknowledged ahead alone among anew announced announces answers ask asks away begun belongs brackets bring broke brought chose clocks coding comma
	continuation cut damaged debugging decompressed deep deeper define defines demands describes digits dir encrypted exempt expands faster finding
	firewall fit followed forget framing give grows hardly hexadecimal higher hook insecureskipverify iptables istiod joined judged knowledge larger leads
	leg lengths letters limitnofile listens lock machine machines meant mend mib nat neither nobody notes notify odd offer offered offers opens
	overwritten owner padding passes passphrase place preparing pri prior promise promises pseudo raise reads recordings redirected refuse regular rejects
	renew rescue rescued resume resumed roots runs segments sensible served servername serving shows sides sign signs silent slept sm somebody speak
	speaks spoken stands stays stood svc systemd tell tells told transfer trusts ulimit understood upgraded varint viewer viewers writes years pure built
	chttp2 embedded filesystem guarddog hashable hessian2 impl lifecycle mux quiche requester rewriter runs serializers skywalking transports wide xfcc
	clusterresource listenerresource routeconfigresource endpointsresource okay
	unix_socket stdin stdout stderr http2 http3 h2 h3 quic node_id downcast cast typed_config
`
