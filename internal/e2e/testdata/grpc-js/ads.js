// Asks a management server for all clusters (ADS, state of the world), accepts
// what it says and prints the versions. Its argument is JSON: addr, node, and
// for TLS ca, cert, key (files) and name. A line "end" on its standard input is
// that it will send no more; "again" makes it begin a new stream. Ends when the
// input does.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { createRequire } = require('node:module');
const tools = process.argv[2];
const options = JSON.parse(process.argv[3]);
const load = createRequire(tools + '/');
const grpc = load('@grpc/grpc-js');
const xds = path.dirname(load.resolve('@grpc/grpc-js-xds/package.json'));
const loader = createRequire(xds + '/')('@grpc/proto-loader');

const definition = loader.loadSync('envoy/service/discovery/v3/ads.proto', {
  includeDirs: ['envoy-api', 'xds', 'googleapis', 'protoc-gen-validate'].map((d) => path.join(xds, 'deps', d)),
  keepCase: true,
});
const { AggregatedDiscoveryService } = grpc.loadPackageDefinition(definition).envoy.service.discovery.v3;
const read = (file) => fs.readFileSync(file);
const settings = { 'grpc.keepalive_time_ms': 1100, 'grpc.keepalive_permit_without_calls': 1 };
let credentials = grpc.credentials.createInsecure();
if (options.ca) {
  credentials = grpc.credentials.createSsl(read(options.ca), read(options.key), read(options.cert));
  settings['grpc.ssl_target_name_override'] = options.name;
}
const client = new AggregatedDiscoveryService(options.addr, credentials, settings);

const type_url = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
let call;
function begin() {
  call = client.StreamAggregatedResources();
  const mine = call;
  mine.on('data', (r) => {
    mine.write({ type_url, version_info: r.version_info, response_nonce: r.nonce });
    console.log('version ' + r.version_info);
  });
  mine.on('error', () => {}); // comes beside the status
  mine.on('status', (s) => console.log('ended ' + s.code));
  mine.write({ type_url, node: { id: options.node } });
}
begin();
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'end') call.end();
  if (line === 'again') begin();
}).on('close', () => process.exit(0));
