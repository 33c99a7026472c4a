// Calls grpc.health.v1.Health/Check of the services named on the command line,
// found by xDS (GRPC_XDS_BOOTSTRAP), again and again, and prints the answers of
// all whenever one has changed. Ends when its standard input does.
'use strict';

const { createRequire } = require('node:module');
const [tools, ...names] = process.argv.slice(2);
const load = createRequire(tools + '/');
const grpc = load('@grpc/grpc-js');
load('@grpc/grpc-js-xds').register();

const bytes = (b) => b;
const answers = names.map(() => '');
let last = '';

function check(client, i) {
  const deadline = new Date(Date.now() + 5000);
  client.makeUnaryRequest('/grpc.health.v1.Health/Check', bytes, bytes, Buffer.alloc(0), { deadline }, (err, reply) => {
    answers[i] = err ? 'error: ' + err.message.replaceAll('\n', ' ') : 'answer: ' + reply.toString('hex');
    const all = answers.join(', ');
    if (all !== last && !answers.includes('')) console.log(all);
    last = all;
    setTimeout(check, 20, client, i);
  });
}

names.forEach((name, i) => check(new grpc.Client('xds:///' + name, grpc.credentials.createInsecure()), i));
process.stdin.on('end', () => process.exit(0)).resume();
