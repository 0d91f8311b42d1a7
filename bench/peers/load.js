/** A load generator for machines without wrk: autocannon with the same request file and the same output. */
import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

const [url, connections, seconds, path, pauseMs] = process.argv.slice(2);
const requests = readFileSync(path, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [method, target, key, body] = line.split('\t');
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    return { method, path: target, headers, ...(body ? { body } : {}) };
  });

/**
 * Each connection sends a different part of the plan, because preparing the whole plan for each connection would take
 * too long.
 */
const partLength = Math.ceil(requests.length / Number(connections));
let prepared = 0;
function setupClient(client) {
  const start = (prepared++ * partLength) % requests.length;
  client.setRequests(requests.slice(start, start + partLength));
}

const {
  requests: done,
  duration,
  errors,
  timeouts,
  latency,
  ...statuses
} = await autocannon({
  url,
  connections: Number(connections),
  duration: Number(seconds),
  setupClient,
  // autocannon cannot pause connections. Instead, this limits the rate to the maximum that is possible with pauses.
  ...(Number(pauseMs) > 0 ? { overallRate: Math.ceil((Number(connections) * 1_000) / Number(pauseMs)) } : {}),
});
const refused = (statuses['4xx'] ?? 0) + (statuses['5xx'] ?? 0);
process.stdout.write(
  `${JSON.stringify({
    requests: done.total,
    seconds: duration,
    refused,
    broken: errors + timeouts,
    p50Ms: latency.p50,
    p99Ms: latency.p99,
  })}\n`,
);
