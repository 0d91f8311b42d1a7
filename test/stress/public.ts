/** Many clients request public paths, but read responses slowly or never. Other clients must not be slowed down. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { bytesOf } from './generate/http.ts';
import { type ProvingService, provingService } from './service.ts';
import type { StressOptions, StressResult, StressTest } from './stress-test.ts';
import { Wires } from './wire.ts';

/** Requests for every public path. The largest file is also requested without gzip and with HEAD. */
const requests = [
  'GET / HTTP/1.1\r\n',
  'GET /docs HTTP/1.1\r\n',
  'GET /docs/scalar.js HTTP/1.1\r\n',
  'GET /docs/scalar.js HTTP/1.1\r\nAccept-Encoding: gzip\r\n',
  'HEAD /docs/scalar.js HTTP/1.1\r\n',
  'GET /openapi.json HTTP/1.1\r\n',
  'GET /livez HTTP/1.1\r\n',
  'GET /readyz HTTP/1.1\r\n',
  'GET /.well-known/api-catalog HTTP/1.1\r\n',
  'GET /none HTTP/1.1\r\n',
].map((head) => `${head}Host: a\r\n\r\n`);

/** Number of requests that each connection sends without waiting for a response. */
const pipelined = 3;
const slowReadBytes = 1_024;
/** Interval between reads on a connection. The connections read in groups, one group at a time. */
const slowReadEveryMs = 1_000;
const readParts = 20;

const loopers = 8;
const keyedClients = 16;
const measureMs = 800;
/** Interval between checks that the service is idle before a measurement. */
const restMs = 200;
const settledWithinMs = 10_000;

const mostPeakMb = 150;
const leastRate = 0.9;

type Crowd = 'reads nothing' | 'reads slowly' | 'asks for heads in a loop';
export const crowds: readonly Crowd[] = ['reads nothing', 'reads slowly', 'asks for heads in a loop'];

class Gathered implements Disposable {
  readonly #sockets: Socket[] = [];
  readonly #timers: Timer[] = [];

  /**
   * Connects a few clients at a time, so that the listen queue does not overflow and drop other clients' connections.
   */
  static async of(url: string, crowd: Crowd, perPath: number): Promise<Gathered> {
    const gathered = new Gathered();
    const loops = crowd === 'asks for heads in a loop';
    const { hostname, port } = new URL(url);
    for (let count = 0; count < (loops ? Math.min(loopers, perPath) : perPath); count++) {
      const connected = requests.map(async (request) => {
        const socket = connect({ host: hostname, port: Number(port) });
        gathered.#sockets.push(socket);
        socket.on('error', () => undefined);
        if (loops) loop(socket, request.replace('GET', 'HEAD'));
        else {
          socket.pause();
          socket.write(request.repeat(pipelined));
        }
        await once(socket, 'connect');
      });
      await Promise.all(connected);
    }
    if (crowd === 'reads slowly') gathered.#readSlowly();
    return gathered;
  }

  #readSlowly(): void {
    let part = 0;
    const read = () => {
      part = (part + 1) % readParts;
      for (let at = part; at < this.#sockets.length; at += readParts) this.#sockets[at]?.read(slowReadBytes);
    };
    this.#timers.push(setInterval(read, slowReadEveryMs / readParts));
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Sends the next request as soon as a response head arrives. Each head arrives in a single chunk. */
function loop(socket: Socket, request: string): void {
  socket.on('data', () => socket.write(request));
  socket.write(request);
}

/** Peak memory of the process in MB. Linux only. */
function peakMbOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) / 1_024;
}

/** CPU time used by all threads of the process, in ms. Linux only, with a resolution of 10 ms. */
function usedMsOf(pid: number): number {
  // The process name, the second field, may contain spaces. User and system time are the 14th and 15th fields.
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Time that the process's main thread spent running or waiting for a CPU, in ms. Linux only. */
function busyMsOf(pid: number): number {
  const [ran, waited] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ');
  return (Number(ran) + Number(waited)) / 1e6;
}

async function settled(pid: number): Promise<void> {
  const deadline = performance.now() + settledWithinMs;
  for (let before = -1; performance.now() < deadline; ) {
    const now = busyMsOf(pid);
    // Counts as idle if busy for less than a fifth of the time, because slow readers always cause some work.
    if (before >= 0 && now - before < restMs / 5) return;
    before = now;
    await sleep(restMs);
  }
}

/**
 * Number of responses to clients that send a key over keep-alive connections, per second of the service's CPU time. CPU
 * time excludes the machine's other work.
 */
async function rate(wires: Wires, { key, pid }: ProvingService): Promise<number> {
  await settled(pid);
  const request = bytesOf({ method: 'GET', target: '/pets', headers: [['Authorization', `Bearer ${key}`]] });
  const [start, usedBefore] = [performance.now(), usedMsOf(pid)];
  let answered = 0;
  await wires.each(keyedClients, async (wire) => {
    while (performance.now() - start < measureMs) {
      const { status } = await wire.send(request);
      if (status !== 200) throw new Error(`a request with a key returned ${status}`);
      answered++;
    }
  });
  return (answered / Math.max(10, usedMsOf(pid) - usedBefore)) * 1_000;
}

/**
 * The request rate while a crowd of clients is connected, as a fraction of the rate without the crowd. Measurements
 * with and without the crowd alternate, and their medians are compared.
 */
async function shareBeside(
  service: ProvingService,
  crowd: Crowd,
  { rounds, perPath }: { rounds: number; perPath: number },
): Promise<number> {
  using wires = new Wires(service.url, keyedClients);
  const [quiet, beside]: [number[], number[]] = [[], []];
  await rate(wires, service);
  for (let round = 0; round < rounds; round++) {
    quiet.push(await rate(wires, service));
    using _crowd = await Gathered.of(service.url, crowd, perPath);
    beside.push(await rate(wires, service));
  }
  return median(beside) / median(quiet);
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** Opens `perPath` connections for every public path. */
export async function publicCrowds(
  { rounds, progress }: Omit<StressOptions, 'seed'>,
  perPath: number,
): Promise<{ readonly peakMb: number; readonly shares: ReadonlyMap<Crowd, number> }> {
  const shares = new Map<Crowd, number>();
  let peakMb = 0;
  for (const crowd of crowds) {
    progress(`a crowd that ${crowd}`);
    // A high limit simulates clients at many addresses. Clients that send HEAD in a loop must reach the normal limit.
    const unbounded = { PUBLIC_REQUESTS_PER_MINUTE: '1000000000' };
    await using service = await provingService(crowd === 'asks for heads in a loop' ? {} : unbounded);
    shares.set(crowd, await shareBeside(service, crowd, { rounds, perPath }));
    service.checkRunning();
    peakMb = Math.max(peakMb, peakMbOf(service.pid));
  }
  return { peakMb, shares };
}

export const publicPages: StressTest = {
  name: 'public',
  promise:
    `with 200 connections per public path that read slowly or not at all, memory stays below ${mostPeakMb} MB, and requests ` +
    `with a key keep ${100 * leastRate} % of their rate`,
  rounds: 7,
  async run(options) {
    const { peakMb, shares } = await publicCrowds(options, 200);
    if (peakMb >= mostPeakMb) throw new Error(`the service used ${Math.round(peakMb)} MB`);
    const figures: Record<string, number> = { 'peak memory in MB': Math.round(peakMb) };
    for (const [crowd, share] of shares) {
      figures[`rate beside a crowd that ${crowd}, in %`] = Math.round(100 * share);
      if (share < leastRate)
        throw new Error(`beside a crowd that ${crowd} the rate is ${Math.round(100 * share)} %`);
    }
    return figures satisfies StressResult;
  },
};
