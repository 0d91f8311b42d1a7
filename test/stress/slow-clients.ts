/**
 * Opens a thousand slow connections of every kind. Other clients must not be affected, and the slow connections must be
 * closed within 30 s.
 */
import { readdirSync, readlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/wait.ts';
import { Chance } from './generate/chance.ts';
import { bytesOf } from './generate/http.ts';
import { provingService } from './service.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { Wire } from './wire.ts';

/** The service must close all slow connections within this time. */
const goneWithinMs = 30_000;
const dripEveryMs = 1_000;
const callEveryMs = 20;

interface Slow {
  /** Bytes written immediately after connecting. */
  readonly first: string;
  /** Bytes written repeatedly after `first`, one byte at a time. If empty, nothing more is written. */
  readonly drip: string;
  /** Whether the client reads responses. */
  readonly reads: boolean;
}

/** Every kind of slow connection. Most send a valid key. */
function kindsOf(key: string): Slow[] {
  const head = (line: string, headers = '') => `${line} HTTP/1.1\r\nHost: a\r\n${headers}`;
  const mine = `Authorization: Bearer ${key}\r\n`;
  const json = 'Content-Type: application/json\r\n';
  const slow = (first: string, drip = '', reads = true): Slow => ({ first, drip, reads });
  const unfinished = `${json}Content-Length: 1000\r\n\r\n{`;
  const post = head('POST /v1/pets', mine);
  return [
    slow(''),
    slow('G', 'ET /v1/'),
    slow(head('GET /v1/pets')),
    slow(head('GET /v1/pets', 'X-Slow: '), 'a'),
    slow(head('GET /v1/pets'), 'a:b\r\n'),
    slow(`${head('GET /v1/pets', mine)}\r\n`),
    slow(`${head('GET /v1/pets', mine)}\r\n${head('GET /v1/pets')}X-Slow: `, 'a'),
    slow(post + unfinished),
    slow(post + unfinished, ' '),
    slow(`${post}${json}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'),
    slow(`${post}${json}Transfer-Encoding: chunked\r\n\r\n`, '0'),
    slow(`${post}${json}Transfer-Encoding: chunked\r\n\r\n5;`, 'a'),
    slow(head('POST /v1/pets') + unfinished, ' '),
    slow(head('POST /v1/elsewhere', mine) + unfinished, ' '),
    slow(`${post}Content-Length: 1000\r\n\r\n`, ' '),
    slow(`${head('GET /v1/pets', `${mine}Content-Length: 1000\r\n`)}\r\n`, ' '),
    slow(`${head('GET /docs')}Content-Length: 1000\r\n\r\n`, ' '),
    slow(`${head('GET /docs/scalar.js')}\r\n`, '', false),
    slow(`${head('GET /openapi.json')}\r\n`.repeat(50), '', false),
    slow(`${head(`GET /v1/pets?${'a=&'.repeat(4_000)}`, mine)}\r\n`, '', false),
  ];
}

function open(url: string, { first, drip, reads }: Slow, chance: Chance): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  if (!reads) socket.pause();
  else socket.on('data', () => undefined);
  socket.on('error', () => undefined);
  socket.write(first);
  if (drip === '') return socket;
  let at = 0;
  const timer = setInterval(
    () => socket.write(drip[at++ % drip.length] ?? ''),
    dripEveryMs + chance.int(0, 300),
  );
  socket.on('close', () => clearInterval(timer));
  return socket;
}

/** Number of open sockets of the process, including listening sockets. */
function socketsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).filter((descriptor) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${descriptor}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;
}

/** Sends requests until aborted and throws on the first wrong status. Returns the sorted latencies in ms. */
async function callOn(
  url: string,
  key: string,
  signal: AbortSignal,
  onAnswer: () => void,
): Promise<number[]> {
  using wire = new Wire(url);
  const tookMs: number[] = [];
  const headers = [
    ['Authorization', `Bearer ${key}`],
    ['Content-Type', 'application/json'],
  ] as const;
  const body = Buffer.from('{"name":"a","categoryId":1}');
  while (!signal.aborted) {
    const start = performance.now();
    const isWrite = tookMs.length % 5 === 0;
    const request = isWrite
      ? { method: 'POST', target: '/pets', headers, body }
      : { method: 'GET', target: '/pets', headers };
    const { status } = await wire.send(bytesOf(request));
    if (status !== (isWrite ? 201 : 200))
      throw new Error(`a request returned ${status} while slow connections were open`);
    tookMs.push(performance.now() - start);
    onAnswer();
    await sleep(callEveryMs);
  }
  return tookMs.sort((a, b) => a - b);
}

/** Minimum number of requests that other clients send while slow connections are open. */
const leastCalls = 50;

/**
 * If `awaitsEnd` is false, the test checks only that the service stays available, not that slow connections are closed.
 */
export async function slowClients({ rounds, seed, progress }: StressOptions, awaitsEnd = true) {
  await using service = await provingService({ IDLE_TIMEOUT_SECONDS: '20' });
  const kinds = kindsOf(service.key);
  const done = new AbortController();
  const before = socketsOf(service.pid);
  let answered = 0;
  const calls = callOn(service.url, service.key, done.signal, () => answered++);
  const start = performance.now();
  const sockets = Array.from({ length: rounds }, (_, index) =>
    open(service.url, kinds[index % kinds.length] as Slow, new Chance(seed, index)),
  );
  const elapsed = () => performance.now() - start;
  let left = rounds;
  let most = 0;
  const look = () => {
    // One of the connections belongs to the regular client.
    left = Math.max(0, socketsOf(service.pid) - before - 1);
    most = Math.max(most, left);
    progress(`${left} of ${rounds} slow connections left after ${Math.round(elapsed() / 1_000)} s`);
  };
  await until(() => {
    look();
    return most > 0.8 * rounds;
  });
  const answeredBefore = answered;
  await Promise.race([until(() => answered - answeredBefore >= leastCalls), calls]);
  while (awaitsEnd && left > 0 && elapsed() < goneWithinMs) {
    await sleep(500);
    look();
  }
  const goneMs = elapsed();
  done.abort();
  const tookMs = await calls;
  for (const socket of sockets) socket.destroy();
  if (awaitsEnd && left > 0) throw new Error(`${left} slow connections are still open after ${goneMs} ms`);
  return {
    'slow connections': rounds,
    'most at the same time': most,
    'closed after s': awaitsEnd ? Number((goneMs / 1_000).toFixed(1)) : 'not awaited',
    'requests of other clients, all successful': tookMs.length,
    'p99 latency of these in ms': Number((tookMs[Math.floor(tookMs.length * 0.99)] ?? 0).toFixed(1)),
  };
}

export const slow: StressTest = {
  name: 'slow-clients',
  promise: 'slow headers, bodies and readers do not delay other clients, and are disconnected within 30 s',
  rounds: 1_000,
  run: slowClients,
};
