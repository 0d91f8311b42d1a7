/**
 * Sends bodies designed to break JSON parsers. Each must be rejected quickly with the right error code, or parsed
 * exactly.
 */
import { checkResponse } from '../support/contract.ts';
import { Failures, same } from './failures.ts';
import { bytesOf } from './generate/http.ts';
import { type HostileBody, hostileBodies } from './hostile-json-table.ts';
import { provingService } from './service.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { Wire } from './wire.ts';

/** Time limit for each body in the stress test, on an otherwise idle machine. */
const longestMs = 50;
/**
 * Maximum number of attempts per body. The fastest attempt counts, because other processes may slow down some attempts.
 */
const tries = 5;

async function check(
  wire: Wire,
  key: string,
  { bytes, code }: HostileBody,
  chunked: boolean,
): Promise<number> {
  const request = bytesOf({
    method: 'POST',
    target: '/pets',
    headers: [
      ['Authorization', `Bearer ${key}`],
      ['Content-Type', 'application/json'],
    ],
    body: bytes,
    ...(chunked && { chunks: [1, 7, 4_096] }),
  });
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < tries && fastestMs > longestMs / 10; attempt++) {
    const start = performance.now();
    const response = await wire.send(request);
    fastestMs = Math.min(fastestMs, performance.now() - start);
    same('the status', response.status, code === undefined ? 201 : 400);
    checkResponse('POST', '/pets', response);
    if (code !== undefined) same('the code', (JSON.parse(response.text) as { code: string }).code, code);
  }
  return fastestMs;
}

/** Sends every body `rounds` times, whole and in chunks. Each body must get a response within `withinMs`. */
export async function hostileJson({ rounds, seed, progress }: StressOptions, withinMs = longestMs) {
  await using service = await provingService();
  using wire = new Wire(service.url);
  const failures = new Failures(seed);
  let slowestMs = 0;
  for (let round = 1; round <= rounds; round++) {
    for (const [index, body] of hostileBodies.entries()) {
      progress(`round ${round} of ${rounds}, body ${index}`);
      for (const chunked of [false, true]) {
        const what = `body ${index}${chunked ? ' in chunks' : ''}, ${Buffer.from(body.bytes.subarray(0, 40))}`;
        await failures.guard(what, async () => {
          const tookMs = await check(wire, service.key, body, chunked);
          if (tookMs > withinMs) throw new Error(`The response took ${tookMs.toFixed(1)} ms.`);
          slowestMs = Math.max(slowestMs, tookMs);
        });
      }
    }
  }
  service.checkRunning();
  failures.end();
  return { bodies: hostileBodies.length, 'slowest in ms': Number(slowestMs.toFixed(1)) };
}

export const hostile: StressTest = {
  name: 'hostile-json',
  promise:
    'bodies designed to break JSON parsers are never wrongly accepted, crash nothing, and take less than 50 ms each',
  rounds: 3,
  run: (options) => hostileJson(options),
};
