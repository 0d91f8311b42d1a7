/** Thousands of clients without a key on every instance: what they cost may not make Redis look lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { plans } from '../../src/domain/plan.ts';
import { clientOf } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import type { StressTest } from './stress-test.ts';

const instances = 3;
const clientsOfInstance = 3_000;
/** Connections opened at a time: more would wait in a listener's queue for the kernel to try again. */
const opening = 200;
/** Requests under way of the account that is counted, at each instance. */
const askingAtOnce = 20;

/** Clients of one instance that send the next request as soon as they are answered. */
class Crowd implements Disposable {
  readonly statuses = new Map<number, number>();
  readonly #sockets = new Set<Bun.Socket>();
  readonly #request = Buffer.from('GET /v1/pets HTTP/1.1\r\nHost: test\r\n\r\n');
  #stopped = false;

  async join(url: string, clients: number): Promise<void> {
    const { hostname, port } = new URL(url);
    for (let open = 0; open < clients; open += opening) {
      const connecting = Array.from({ length: opening }, () => this.#connect(hostname, Number(port)));
      await Promise.all(connecting);
    }
  }

  get connected(): number {
    return this.#sockets.size;
  }

  [Symbol.dispose](): void {
    this.#stopped = true;
    for (const socket of this.#sockets) socket.terminate();
  }

  async #connect(hostname: string, port: number): Promise<void> {
    await Bun.connect({
      hostname,
      port,
      socket: {
        open: (socket) => {
          this.#sockets.add(socket);
          socket.write(this.#request);
        },
        data: (socket, bytes) => {
          // An answer of a few hundred bytes comes whole.
          const status = Number(bytes.subarray(9, 12).toString());
          this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
          if (!this.#stopped) socket.write(this.#request);
        },
        close: (socket) => {
          this.#sockets.delete(socket);
        },
        error: () => {},
      },
    });
  }
}

/** Uses up the minute of a new Free account over all instances; how many requests were admitted. */
async function countedFree(cluster: Cluster): Promise<number> {
  const { operator } = cluster;
  const account = await operator.accounts.create('counted', 'free');
  const { key } = await operator.keys.create(account.id, 'counted');
  let admitted = 0;
  const ask = async (url: string) => {
    const client = clientOf(url, key);
    for (;;) {
      const { status, text } = await client.get('/pets?limit=1');
      if (status === 429) return;
      if (status === 200) admitted++;
      else if (status !== 503) throw new Error(`${status} ${text}`);
    }
  };
  const asking = cluster.instances.flatMap(({ url }) => Array.from({ length: askingAtOnce }, () => ask(url)));
  await Promise.all(asking);
  return admitted;
}

export const crowd: StressTest = {
  name: 'cluster-crowd',
  promise:
    '3,000 connections without a key on each of three instances: the limits of a Free key are exact, and ' +
    'nothing is answered 500 (rounds: Free keys)',
  rounds: 10,
  async run({ rounds, progress }) {
    await using cluster = await startCluster({ instances, environment: { LOG_LEVEL: 'warn' } });
    if (cluster === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
    using clients = new Crowd();
    await Promise.all(cluster.instances.map(({ url }) => clients.join(url, clientsOfInstance)));
    await sleep(1_000);
    const admitted: number[] = [];
    for (let round = 0; round < rounds; round++) {
      admitted.push(await countedFree(cluster));
      progress(`${round + 1} Free keys, admitted ${admitted.join(', ')}`);
    }
    const logs = cluster.instances.map(({ stderr }) => stderr()).join('\n');
    const figures = {
      connections: clients.connected,
      'requests without a key answered': [...clients.statuses.values()].reduce(
        (sum, count) => sum + count,
        0,
      ),
      'of these 503': clients.statuses.get(503) ?? 0,
      'least admitted of 60': Math.min(...admitted),
      'most admitted of 60': Math.max(...admitted),
      'times Redis was silent for too long': logs.split('Redis unavailable').length - 1,
    };
    const exact = admitted.every((count) => count === plans.free.perMinute);
    const unexpected = [...clients.statuses.keys()].filter((status) => ![401, 429, 503].includes(status));
    if (!exact || unexpected.length > 0) {
      throw new Error(JSON.stringify({ ...figures, admitted, unexpected }));
    }
    return figures;
  },
};
