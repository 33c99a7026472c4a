// Package script reads and writes conversation scripts (.xds): xDS sessions as
// people write them down, one line a message.
//
//	# a cluster, and its endpoints half a second later
//	C> type=CDS V= N= R=[] node=n1
//	S< type=CDS V=1 N=a res=[c1{eds}]
//	C> type=EDS V= N= R=[c1]
//	C> type=CDS V=1 N=a R=[]
//	t=+0.5s S< type=EDS V=1 N=b res=[c1#h1]
//
// A script is a source like a recording: Parse checks all of it, and Entries
// gives the entries that a proxy between the two would have recorded, with real
// messages in protobuf. Write turns entries into a script again.
//
// # Lines
//
// Empty lines and lines that begin with # say nothing. Every other line is
//
//	[t=+DURATION] [@STREAM] KIND WORD... [xTIMES]
//
// A line happens at the time of the line before it, or DURATION later, and as
// often as TIMES says. KIND is one of
//
//	C>  S<  request and response of the state of the world
//	D>  d<  request and response of delta
//	P>  p<  a poll and its answer: REST in JSON
//	L>  l<  load report and its answer
//	F:      a change of a watched file
//	--      an event
//
// The first line of a kind opens an aggregated stream for it, of the node n1.
// "-- stream 2" opens another, and lines belong to the stream opened last. @2
// names another one; only with it does a line belong to a stream that has ended.
//
// # Words
//
// A WORD is NAME=VALUE. A value with spaces or one of the signs below stands in
// double quotes, with the escapes of Go; a list in square brackets, its elements
// separated by commas.
//
//	type=CDS      a short type (of version 3; v2.CDS), a full message name,
//	              or a type URL
//	V= N=         version and nonce
//	R=            names of a request of the state of the world
//	sub= unsub=   names of a delta request; in all three, loc:x is the name of
//	              a resource locator
//	init={c1:1}   its initial versions
//	node=n1/c     node id and cluster; n1 alone has no cluster
//	ua=envoy/1.0  user agent of the node, and its version
//	locality=r/z  region and zone of the node
//	features=[]   client features of the node; all known ones by default
//
// On one stream, what a node said of itself by the last three holds until it says
// something else.
//
//	err="" code=  error_detail; 13 is the code by default
//	res= rm=      resources, and names of removed ones
//	alias=        aliases of all resources of the response
//	errs=[x:NOT_FOUND]  resource errors; x:5="reason" has a message
//	sys=          system version of a delta response
//	cp=           control plane identifier
//	size=5MiB     the message is padded to this size, if it is smaller
//
// A resource is
//
//	[w:|hb:|TYPE:]NAME[@VERSION][#HASH...][{REF,...}][~TTL][(ATTRIBUTE,...)]
//
// w: puts it into a Resource envelope, as a version, a TTL and most attributes do
// anyway, and as delta always does; hb: is an envelope without payload. TYPE: is
// another type than that of the response.
//
// #HASH stands for the content of the payload, together with its name and its
// references. Without one the content follows VERSION in delta, and the name
// alone in the state of the world: c1@1 and c1@2 differ, c1 twice is the same.
// Hashes with a meaning of their own are
//
//	#corrupt        the payload does not parse
//	#unknown-field  it has a field that its type does not know
//	#deprecated     it sets a field that is deprecated
//	#pgv-bad        it violates a constraint of its type
//	#grpc-bad       a gRPC client refuses it
//	#key...         the scope key of a scope; #key="any text" is another way
//
// and ATTRIBUTEs
//
//	payload=x       the payload's own name, where it is not NAME
//	type=x          any other type
//	alias=x         an alias of this resource alone
//	variant=x       a constraint on dynamic parameters: NAME is in resource_name
//	both-names      NAME is in name and in resource_name
//
// A REF is
//
//	x         a cluster that a route, a proxy or an aggregate leads to
//	eds eds=x endpoints by EDS, under the cluster's name or another
//	rds=x     a route configuration
//	sds=x     a secret
//	ecds=x    an HTTP filter; default gives those a default configuration
//	vhds      virtual hosts on demand
//	srds      scopes
//	leds=x    a group of endpoints
//	src=x     where all of these come from: ads, self, grpc, delta-grpc, rest
//	          or path
//
// # Polls, files, reports
//
//	P> path=/v3/discovery:clusters type=CDS V= R= node= verb=POST body=""
//	p< 200 type=CDS V=1 N= res= body=""
//
// An answer without a poll implies one that announces the version of the last
// answer with status 200. body= replaces the JSON.
//
//	F: rename cds.yaml.tmp cds.yaml type=CDS V=2 res=
//	F: write|create|read|delete|change cds.yaml ...
//	F: swap ..data cds.yaml watched=file seen=no replaced=DIR ...
//	L> node=n1 stats=[c1]
//	l< clusters=[c1] send_all=true interval=10s
//
// # Events
//
//	-- stream 2 method=StreamClusters     or v2.StreamClusters, or a path
//	-- stream-open x12 gap=50ms code=14   streams that the server ends at once
//	-- server-headers                     before the first message otherwise
//	-- server-end code=14 msg=""          or http=503
//	-- client-end code=8 msg=""           and reset=8, with which it resets
//	-- client-half-close
//	-- cut by=server msg="" reset=2       any other end, with its connection
//	-- goaway by=server code= last= msg=
//	-- disconnect by=client msg=""
//	-- tick                               nothing but time
//	-- csds node=n1 CDS/c1=NACKED@1       a client status, asked for and given
//	-- held node=n1 CDS/active=[c1#1]     what a client says that it holds
//
// Events belong to a stream as messages do. A stream has a connection of its own,
// from an address that its node has in the whole script. In "-- stream", node=
// says whose it is before a request does; peer= gives another address, server=
// that of another server, ua= the user-agent of the headers, and conn=1 the
// connection of stream 1. Streams of "-- stream-open" ask for something if type=,
// R= and node= say for what. "-- held" belongs to no stream, and lists resources by
// type and state (active, static, warming, awaited, draining, error, gone); changed=true
// says that it is not all that the client holds, failed= why it said nothing.
//
// A code is a number or a name, such as UNAVAILABLE; a duration is one of Go.
//
// # What it refuses
//
// The package judges no conversation: what is wrong in a script in the sense of
// xDS is what a script is for. It refuses what cannot be said in a message, and
// more than 100,000 entries or 256 MiB. It performs no I/O but for what Write
// writes, and reads no clock: a script begins at the same instant every time.
package script
