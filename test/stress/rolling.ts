/** Restarts instances one after the other. Clients must not see an error. */
import { Connection } from '../process/connection.ts';
import { clientOf } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { allNames } from '../support/load.ts';
import { randomFrom } from '../support/random.ts';
import { deliveredProxy, steadyPort } from './rolling-proxy.ts';
import type { StressTest } from './stress-test.ts';

const clientsPerDoor = 12;
/** Shorter than the drain period, so that each client receives `Connection: close` during the drain. */
const longestPauseMs = 300;
const creationPart = 0.2;
/** A load balancer detects a restarted instance within this time. Until then, the other instance must stay up. */
const noticedMs = 1_000;

/** Clients with keep-alive connections. They never retry, so that failed requests are visible. */
class Clients {
  readonly failures: string[] = [];
  readonly acknowledged: string[] = [];
  answered = 0;
  /** Number of refused connections. After each refused connection, the client tries the other instance. */
  turnedAway = 0;
  #stopped = false;
  readonly #key: string;
  readonly #random: () => number;

  constructor(key: string, seed: number) {
    this.#key = key;
    this.#random = randomFrom(seed);
  }

  /**
   * Runs a client that switches to the next address when the current one refuses connections or announces its shutdown.
   */
  async run(addresses: readonly string[], name: string, creations = creationPart): Promise<void> {
    for (let turn = 0; !this.#stopped; turn++) {
      const url = addresses[turn % addresses.length] as string;
      const connection = await Connection.open(url).catch(() => undefined);
      if (connection !== undefined) await this.#use(connection, `${name} ${turn}`, creations);
      else {
        this.turnedAway++;
        if (addresses.length === 1) this.failures.push(`${name}: the proxy refuses connections`);
        await Bun.sleep(10);
      }
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async #use(opened: Connection, name: string, creations: number): Promise<void> {
    using connection = opened;
    for (let number = 0; !this.#stopped; number++) {
      const animal = `${name} ${number}`;
      const isCreation = this.#random() < creations;
      try {
        const reply = isCreation
          ? await connection.add(animal, this.#key)
          : await connection.get('/v1/pets', this.#key);
        this.answered++;
        if (reply.status !== (isCreation ? 201 : 200)) {
          this.failures.push(
            `${animal}: ${isCreation ? 'a create request' : 'a list'} returned ${reply.status}`,
          );
        } else if (isCreation) this.acknowledged.push(animal);
        if (reply.closes) return;
      } catch (error) {
        this.failures.push(
          `${animal}: ${isCreation ? 'a create request' : 'a list'}: ${(error as Error).message}`,
        );
        return;
      }
      await Bun.sleep(this.#random() * longestPauseMs);
    }
  }
}

async function twoInstances(cluster: Cluster, random: () => number) {
  const start = async () => {
    const port = await steadyPort(random);
    const settings = { PORT: String(port), DRAIN_SECONDS: '1' };
    return { settings, service: await cluster.startInstance(settings) };
  };
  return [await start(), await start()] as const;
}

/** Restarts the instances alternately, `rounds` times in total. Returns the duration of the slowest shutdown in ms. */
async function roll(
  cluster: Cluster,
  instances: Awaited<ReturnType<typeof twoInstances>>,
  rounds: number,
  onRound: (round: number) => void,
): Promise<number> {
  let slowestMs = 0;
  for (let round = 1; round <= rounds; round++) {
    const instance = instances[round % 2 === 0 ? 0 : 1];
    const from = performance.now();
    instance.service.signal('SIGTERM');
    const exitCode = await instance.service.exited;
    slowestMs = Math.max(slowestMs, Math.round(performance.now() - from));
    if (exitCode !== 0)
      throw new Error(
        `In round ${round}, the instance exited with ${exitCode}: ${instance.service.stderr()}`,
      );
    instance.service = await cluster.startInstance(instance.settings);
    await Bun.sleep(noticedMs);
    onRound(round);
  }
  return slowestMs;
}

export const rolling: StressTest = {
  name: 'rolling',
  promise:
    'two instances that are alternately restarted by SIGTERM, while keep-alive clients send requests directly, through ' +
    'haproxy and through nginx (reads only), cause no failed requests and lose no animals; needs PostgreSQL and Redis (rounds: SIGTERMs)',
  rounds: 200,
  async run({ rounds, seed, progress }) {
    await using started = new AsyncDisposableStack();
    const cluster = started.use(await startCluster({ instances: 0 }));
    if (!cluster) throw new Error('This machine has no PostgreSQL and Redis for this test.');
    const instances = await twoInstances(cluster, randomFrom(seed));
    const urls = instances.map(({ service }) => service.url);
    const nginx = started.use(await deliveredProxy('nginx', urls));
    const haproxy = started.use(await deliveredProxy('haproxy', urls));
    if (!nginx || !haproxy) throw new Error('This machine has no nginx or no haproxy for this test.');

    const { key } = await cluster.issueKey();
    const clients = new Clients(key, seed);
    const running = Array.from({ length: clientsPerDoor }, (_, index) => [
      // Sends no create requests through nginx, because nginx detects a shutdown only when a request fails, and must
      // not retry a create request.
      clients.run([nginx.url], `behind nginx ${index}`, 0),
      clients.run([haproxy.url], `behind haproxy ${index}`),
      clients.run(index % 2 === 0 ? urls : urls.toReversed(), `directly ${index}`),
    ]).flat();
    const slowestStopMs = await roll(cluster, instances, rounds, (round) =>
      progress(
        `SIGTERM ${round} of ${rounds}: ${clients.answered} answered, ${clients.failures.length} failed`,
      ),
    );
    clients.stop();
    await Promise.all(running);

    const names = new Set(await allNames(clientOf(urls[0] ?? '', key)));
    const lost = clients.acknowledged.filter((name) => !names.has(name));
    if (clients.failures.length > 0 || lost.length > 0) {
      const shown = clients.failures.slice(0, 10).join('; ');
      throw new Error(
        `${clients.failures.length} of ${clients.answered} failed, ${lost.length} lost: ${shown}`,
      );
    }
    return {
      'requests answered': clients.answered,
      failed: 0,
      'animals acknowledged, all kept': clients.acknowledged.length,
      'refused connections': clients.turnedAway,
      'slowest shutdown in ms': slowestStopMs,
    };
  },
};
