// Calls grpc.health.v1.Health/Check of the service named on the command line,
// found by xDS (GRPC_XDS_BOOTSTRAP), again and again, and prints the answer
// whenever it changes. Ends when its standard input does.
'use strict';

const { createRequire } = require('node:module');
const [tools, name] = process.argv.slice(2);
const load = createRequire(tools + '/');
const grpc = load('@grpc/grpc-js');
load('@grpc/grpc-js-xds').register();

const client = new grpc.Client('xds:///' + name, grpc.credentials.createInsecure());
const bytes = (b) => b;
let last = '';

function check() {
  const deadline = new Date(Date.now() + 5000);
  client.makeUnaryRequest('/grpc.health.v1.Health/Check', bytes, bytes, Buffer.alloc(0), { deadline }, (err, reply) => {
    const answer = err ? 'error: ' + err.message.replaceAll('\n', ' ') : 'answer: ' + reply.toString('hex');
    if (answer !== last) console.log(answer);
    last = answer;
    setTimeout(check, 20);
  });
}

check();
process.stdin.on('end', () => process.exit(0)).resume();
