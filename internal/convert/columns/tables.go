package columns

// The rows of the tables, as docs/columns.md has them. A text that is empty and a
// number that is a pointer to nothing are null; an int64 marked optional is null if
// it is 0. Names of columns are never changed: version says so.

// who is the client that a row is about.
type who struct {
	Client           string `parquet:"client,optional,dict"`
	NodeCluster      string `parquet:"node_cluster,optional,dict"`
	UserAgentName    string `parquet:"user_agent_name,optional,dict"`
	UserAgentVersion string `parquet:"user_agent_version,optional,dict"`
}

func (w *who) bytes() int {
	return len(w.Client) + len(w.NodeCluster) + len(w.UserAgentName) + len(w.UserAgentVersion)
}

type entryRow struct {
	Proxy     string `parquet:"proxy,dict"`
	Recording string `parquet:"recording,dict"`
	Seq       int64  `parquet:"seq,delta"`
	Time      int64  `parquet:"time,timestamp(microsecond),delta"`
	Start     *int64 `parquet:"start,optional,timestamp(microsecond)"`
	Conn      int64  `parquet:"conn,optional"`
	Stream    int64  `parquet:"stream,optional"`
	H2Stream  int64  `parquet:"h2_stream,optional"`
	Kind      string `parquet:"kind,dict"`
	Side      string `parquet:"side,optional,dict"`
	who
	Region       string   `parquet:"region,optional,dict"`
	Zone         string   `parquet:"zone,optional,dict"`
	Method       string   `parquet:"method,optional,dict"`
	Variant      string   `parquet:"variant,optional,dict"`
	Type         string   `parquet:"type,optional,dict"`
	TypeURL      string   `parquet:"type_url,optional,dict"`
	What         string   `parquet:"what,optional,dict"`
	Also         []string `parquet:"also,list" parquet-element:",dict"`
	Version      string   `parquet:"version,optional,dict"`
	Nonce        string   `parquet:"nonce,optional,dict"`
	ErrorCode    *int32   `parquet:"error_code,optional"`
	ErrorMessage string   `parquet:"error_message,optional,dict"`
	Answers      int64    `parquet:"answers,optional"`
	Accepted     int64    `parquet:"accepted,optional"`
	Everything   *bool    `parquet:"everything,optional"`
	NamesAdded   []string `parquet:"names_added,list" parquet-element:",dict"`
	NamesRemoved []string `parquet:"names_removed,list" parquet-element:",dict"`
	Owed         *bool    `parquet:"owed,optional"`
	Resources    *int32   `parquet:"resources,optional"`
	Changed      []string `parquet:"changed,list" parquet-element:",dict"`
	ChangedNames []string `parquet:"changed_names,list" parquet-element:",dict"`
	Added        *int32   `parquet:"added,optional"`
	Size         *int64   `parquet:"size,optional"`
	WireSize     *int64   `parquet:"wire_size,optional"`
	Encoding     string   `parquet:"encoding,optional,dict"`
	Masked       *bool    `parquet:"masked,optional"`
	Truncated    *bool    `parquet:"truncated,optional"`
	Uncertain    bool     `parquet:"uncertain"`
	Problems     []string `parquet:"problems,list" parquet-element:",dict"`
	GRPCStatus   *int32   `parquet:"grpc_status,optional"`
	HTTPStatus   int32    `parquet:"http_status,optional"`
	H2Error      *int64   `parquet:"h2_error,optional"`
	StatusText   string   `parquet:"status_message,optional,dict"`
	Note         string   `parquet:"note,optional,dict"`
	NoteText     string   `parquet:"note_text,optional,dict"`
	GapFirst     *int64   `parquet:"gap_first,optional"`
	GapLast      *int64   `parquet:"gap_last,optional"`
	GapEntries   *int64   `parquet:"gap_entries,optional"`
	GapChosen    *bool    `parquet:"gap_chosen,optional"`
}

func (r *entryRow) bytes() int {
	return rowBytes + r.who.bytes() + len(r.Version) + len(r.Nonce) + len(r.ErrorMessage) + len(r.StatusText) + len(r.NoteText) + len(r.Method) + len(r.TypeURL) +
		listBytes(r.NamesAdded) + listBytes(r.NamesRemoved) + listBytes(r.Changed) + listBytes(r.ChangedNames) + listBytes(r.Problems)
}

type ackRow struct {
	Proxy     string `parquet:"proxy,dict"`
	Recording string `parquet:"recording,dict"`
	Seq       int64  `parquet:"seq,delta"`
	Time      int64  `parquet:"time,timestamp(microsecond),delta"`
	Conn      int64  `parquet:"conn"`
	Stream    int64  `parquet:"stream"`
	who
	Variant           string `parquet:"variant,optional,dict"`
	Type              string `parquet:"type,optional,dict"`
	TypeURL           string `parquet:"type_url,optional,dict"`
	Verdict           string `parquet:"verdict,dict"`
	ResponseSeq       int64  `parquet:"response_seq,optional"`
	ResponseTime      *int64 `parquet:"response_time,optional,timestamp(microsecond)"`
	LatencyUS         *int64 `parquet:"latency_us,optional"`
	Version           string `parquet:"version,optional,dict"`
	Nonce             string `parquet:"nonce,optional,dict"`
	RequestVersion    string `parquet:"request_version,optional,dict"`
	RunningSeq        int64  `parquet:"running_seq,optional"`
	RunningVersion    string `parquet:"running_version,optional,dict"`
	ResponseResources *int32 `parquet:"response_resources,optional"`
	ResponseSize      *int64 `parquet:"response_size,optional"`
	ErrorCode         *int32 `parquet:"error_code,optional"`
	ErrorMessage      string `parquet:"error_message,optional,dict"`
	Again             bool   `parquet:"again"`
	Uncertain         bool   `parquet:"uncertain"`
}

func (r *ackRow) bytes() int {
	return rowBytes + r.who.bytes() + len(r.Version) + len(r.Nonce) + len(r.RequestVersion) + len(r.RunningVersion) + len(r.ErrorMessage) + len(r.TypeURL)
}

type connectionRow struct {
	Proxy     string `parquet:"proxy,dict"`
	Recording string `parquet:"recording,dict"`
	Conn      int64  `parquet:"conn"`
	Seq       int64  `parquet:"seq,optional"`
	Opened    *int64 `parquet:"opened,optional,timestamp(microsecond)"`
	EndSeq    int64  `parquet:"end_seq,optional"`
	Closed    *int64 `parquet:"closed,optional,timestamp(microsecond)"`
	AsOf      *int64 `parquet:"as_of,optional,timestamp(microsecond)"`
	ClosedBy  string `parquet:"closed_by,optional,dict"`
	Reason    string `parquet:"reason,optional,dict"`
	who
	ClientAddress       string   `parquet:"client_address,optional,dict"`
	ListenAddress       string   `parquet:"listen_address,optional,dict"`
	LocalAddress        string   `parquet:"local_address,optional,dict"`
	UpstreamAddress     string   `parquet:"upstream_address,optional,dict"`
	Streams             int64    `parquet:"streams"`
	Messages            int64    `parquet:"messages"`
	ClientBytes         int64    `parquet:"client_bytes"`
	ServerBytes         int64    `parquet:"server_bytes"`
	ClientTLSVersion    string   `parquet:"client_tls_version,optional,dict"`
	ServerTLSVersion    string   `parquet:"server_tls_version,optional,dict"`
	ClientTLSALPN       string   `parquet:"client_tls_alpn,optional,dict"`
	ServerTLSALPN       string   `parquet:"server_tls_alpn,optional,dict"`
	ClientTLSServerName string   `parquet:"client_tls_server_name,optional,dict"`
	ServerTLSServerName string   `parquet:"server_tls_server_name,optional,dict"`
	ClientTLSIdentities []string `parquet:"client_tls_identities,list" parquet-element:",dict"`
	ServerTLSIdentities []string `parquet:"server_tls_identities,list" parquet-element:",dict"`
	ClientTLSIssuer     string   `parquet:"client_tls_issuer,optional,dict"`
	ServerTLSIssuer     string   `parquet:"server_tls_issuer,optional,dict"`
	ClientTLSNotAfter   *int64   `parquet:"client_tls_not_after,optional,timestamp(microsecond)"`
	ServerTLSNotAfter   *int64   `parquet:"server_tls_not_after,optional,timestamp(microsecond)"`
	ClientTLSVerified   *bool    `parquet:"client_tls_verified,optional"`
	ServerTLSVerified   *bool    `parquet:"server_tls_verified,optional"`
}

func (r *connectionRow) bytes() int {
	return rowBytes + r.who.bytes() + len(r.Reason) + len(r.ClientAddress) + len(r.ListenAddress) + len(r.LocalAddress) + len(r.UpstreamAddress) +
		len(r.ClientTLSServerName) + len(r.ServerTLSServerName) + listBytes(r.ClientTLSIdentities) + listBytes(r.ServerTLSIdentities) +
		len(r.ClientTLSIssuer) + len(r.ServerTLSIssuer)
}

type findingRow struct {
	Proxy     string  `parquet:"proxy,dict"`
	Recording string  `parquet:"recording,dict"`
	Seqs      []int64 `parquet:"seqs,list"`
	Conn      int64   `parquet:"conn,optional"`
	Stream    int64   `parquet:"stream,optional"`
	who
	Type       string   `parquet:"type,optional,dict"`
	Rule       string   `parquet:"rule,dict"`
	Severity   string   `parquet:"severity,dict"`
	Fault      string   `parquet:"fault,dict"`
	Confidence string   `parquet:"confidence,dict"`
	Names      []string `parquet:"names,list" parquet-element:",dict"`
	Sources    []string `parquet:"sources,list" parquet-element:",dict"`
	FirstAt    int64    `parquet:"first_at,timestamp(microsecond)"`
	LastAt     int64    `parquet:"last_at,timestamp(microsecond)"`
	LastSeq    int64    `parquet:"last_seq"`
	Count      int64    `parquet:"count"`
	Cause      int64    `parquet:"cause,optional"`
	Message    string   `parquet:"message"`
}

func (r *findingRow) bytes() int {
	return rowBytes + r.who.bytes() + len(r.Message) + listBytes(r.Names) + listBytes(r.Sources)
}

type clientRow struct {
	Proxy     string `parquet:"proxy,dict"`
	Recording string `parquet:"recording,dict"`
	AsOf      int64  `parquet:"as_of,timestamp(microsecond)"`
	who
	Address    string `parquet:"address,optional,dict"`
	Streams    int32  `parquet:"streams"`
	Since      *int64 `parquet:"since,optional,timestamp(microsecond)"`
	Last       *int64 `parquet:"last,optional,timestamp(microsecond)"`
	Gone       *int64 `parquet:"gone,optional,timestamp(microsecond)"`
	GoneWhy    string `parquet:"gone_why,optional,dict"`
	Type       string `parquet:"type,dict"`
	State      string `parquet:"state,dict"`
	StateSince *int64 `parquet:"state_since,optional,timestamp(microsecond)"`
	Seq        int64  `parquet:"seq,optional"`
	Version    string `parquet:"version,optional,dict"`
	Sent       string `parquet:"sent,optional,dict"`
	Rejected   string `parquet:"rejected,optional,dict"`
	Accepted   int64  `parquet:"accepted,optional"`
	Nacks      int32  `parquet:"nacks"`
	Nack       string `parquet:"nack,optional,dict"`
	NackSeq    int64  `parquet:"nack_seq,optional"`
	Wanted     *int32 `parquet:"wanted,optional"`
	Have       int32  `parquet:"have"`
	Uncertain  bool   `parquet:"uncertain"`
}

func (r *clientRow) bytes() int {
	return rowBytes + r.who.bytes() + len(r.GoneWhy) + len(r.Version) + len(r.Sent) + len(r.Rejected) + len(r.Nack)
}

type resourceRow struct {
	Content            string   `parquet:"content"`
	Type               string   `parquet:"type,optional,dict"`
	TypeURL            string   `parquet:"type_url,optional,dict"`
	Name               string   `parquet:"name,optional,dict"`
	Size               int64    `parquet:"size"`
	JSON               bool     `parquet:"json"`
	Masked             bool     `parquet:"masked"`
	Undecodable        string   `parquet:"undecodable,optional,dict"`
	Service            string   `parquet:"service,optional,dict"`
	ServiceNamespace   string   `parquet:"service_namespace,optional,dict"`
	ServiceName        string   `parquet:"service_name,optional,dict"`
	ServiceKind        string   `parquet:"service_kind,optional,dict"`
	ServiceSystem      string   `parquet:"service_system,optional,dict"`
	ServiceByName      string   `parquet:"service_by_name,optional,dict"`
	Sources            []string `parquet:"sources,list" parquet-element:",dict"`
	Certificates       int32    `parquet:"certificates"`
	NotBefore          *int64   `parquet:"not_before,optional,timestamp(microsecond)"`
	NotAfter           *int64   `parquet:"not_after,optional,timestamp(microsecond)"`
	CertificateSubject string   `parquet:"certificate_subject,optional,dict"`
	CertificateIssuer  string   `parquet:"certificate_issuer,optional,dict"`
	Proxy              string   `parquet:"proxy,dict"`
	Recording          string   `parquet:"recording,dict"`
	Seq                int64    `parquet:"seq"`
	Time               int64    `parquet:"time,timestamp(microsecond)"`
}

func (r *resourceRow) bytes() int {
	return rowBytes + len(r.Content) + len(r.Name) + len(r.TypeURL) + len(r.Undecodable) + 2*len(r.Service) + len(r.ServiceByName) + listBytes(r.Sources) +
		len(r.CertificateSubject) + len(r.CertificateIssuer)
}

type bodyRow struct {
	Content string `parquet:"content"`
	Bytes   []byte `parquet:"bytes"`
}

func (r *bodyRow) bytes() int { return rowBytes + len(r.Content) + len(r.Bytes) }

// rowBytes is what a row takes beside its longer texts, about.
const rowBytes = 256

func listBytes(list []string) (n int) {
	for _, s := range list {
		n += len(s) + 8
	}
	return n
}
