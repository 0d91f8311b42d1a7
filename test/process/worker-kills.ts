/** Kills workers one after the other under load. Only requests on connections to killed workers may fail. */
import { clientOf } from '../support/client.ts';
import { allNames } from '../support/load.ts';
import { ample, type Service } from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/wait.ts';
import { Connection, type RawReply } from './connection.ts';
import { processOf } from './each-worker.ts';
import type { WorkerStores } from './worker-stores.ts';

interface WorkerKillOptions {
  readonly service: Service;
  readonly stores: Pick<WorkerStores, 'issueKey'>;
  readonly kills: number;
  readonly seed: number;
  readonly onKill?: (kill: number) => void;
}

interface WorkerKillResult {
  readonly answered: number;
  readonly acknowledged: number;
  /** Number of requests that were in flight to workers when they were killed. */
  readonly cutOff: number;
  /** Number of requests without a response that counted against the limit. */
  readonly chargedUnanswered: number;
  /** Failures other than interrupted requests. */
  readonly failures: readonly string[];
}

const clients = 8;
/** Requests that each connection sends in rotation. */
const kinds = ['creation', 'list', 'animal'] as const;
type Kind = (typeof kinds)[number];

class WorkerLoad {
  readonly failures: string[] = [];
  readonly acknowledged: string[] = [];
  answered = 0;
  cutOff = 0;
  kills = 0;
  /** Id of the latest animal whose creation was acknowledged. */
  lastId = 0;
  /**
   * Number of killed processes that have exited. Until a killed process has exited, it may still accept connections.
   */
  over = 0;
  #stopped = false;
  readonly #service: Service;
  readonly #key: string;
  /**
   * Processes that have closed a connection, by the prefix of their request ids. They must not respond to later
   * requests.
   */
  readonly #gone = new Set<string>();

  constructor(service: Service, key: string) {
    this.#service = service;
    this.#key = key;
  }

  async run(name: string): Promise<void> {
    for (let turn = 0; !this.#stopped; turn++) {
      const overBefore = this.over;
      const opened = await Connection.open(this.#service.url).catch((error: Error) => error);
      if (opened instanceof Connection) await this.#use(opened, `${name} ${turn}`, overBefore);
      // A worker may be killed before it accepts a connection that the system has established. A refused connection is
      // a failure, because it means that no worker was listening.
      else if (/REFUSED/i.test(String(opened)) || this.kills === overBefore)
        this.failures.push(String(opened));
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async #use(opened: Connection, name: string, overBefore: number): Promise<void> {
    using connection = opened;
    let process: string | undefined;
    for (let number = 0; !this.#stopped; number++) {
      const kind = kinds[number % kinds.length] as Kind;
      const goneBefore = new Set(this.#gone);
      try {
        const reply = await this.#ask(connection, kind, `${name} ${number}`);
        process = processOf(reply);
        if (process === '' || goneBefore.has(process)) this.failures.push(`got a response from ${process}`);
        this.#judge(kind, `${name} ${number}`, reply);
      } catch (error) {
        this.cutOff++;
        if (process !== undefined) this.#gone.add(process);
        if (this.#gone.size > this.kills || (process === undefined && this.kills === overBefore)) {
          this.failures.push(`${name} ${number} of ${process}: ${(error as Error).message}`);
        }
        return;
      }
    }
  }

  #ask(connection: Connection, kind: Kind, name: string): Promise<RawReply> {
    if (kind === 'creation') return connection.add(name, this.#key);
    if (kind === 'animal') return connection.get(`/v1/pets/${this.lastId}`, this.#key);
    return connection.get('/v1/pets?limit=1', this.#key);
  }

  #judge(kind: Kind, name: string, { status, body }: RawReply): void {
    this.answered++;
    if (status !== (kind === 'creation' ? 201 : 200)) this.failures.push(`${kind} ${name}: ${status}`);
    else if (kind === 'creation') {
      this.acknowledged.push(name);
      this.lastId = (JSON.parse(body) as { id: number }).id;
    }
  }
}

/**
 * Kills workers repeatedly, each after the previous worker was replaced. Throws if an acknowledged animal is missing,
 * or if the number of counted requests differs from the number of responses. Requests that were in flight during a kill
 * may or may not be counted.
 */
export async function killWorkers({
  service,
  stores,
  kills,
  seed,
  onKill,
}: WorkerKillOptions): Promise<WorkerKillResult> {
  const random = randomFrom(seed);
  const { key } = await stores.issueKey();
  const load = new WorkerLoad(service, key);
  const going = Array.from({ length: clients }, (_, client) => load.run(`client ${client}`));
  for (let kill = 1; kill <= kills; kill++) {
    const { answered } = load;
    await until(() => load.answered >= answered + 5 * clients);
    const workers = childrenOf(service.pid);
    const victim = workers[Math.floor(random() * workers.length)];
    if (victim === undefined) throw new Error(`There is no worker:\n${service.stderr()}`);
    load.kills = kill;
    process.kill(victim, 'SIGKILL');
    await until(() => !childrenOf(service.pid).includes(victim));
    load.over = kill;
    await until(() => service.stderr().split('"msg":"worker serving"').length - 1 === kill);
    onKill?.(kill);
  }
  load.stop();
  await Promise.all(going);
  const { answered, acknowledged, cutOff, failures } = load;
  const client = clientOf(service.url, key);
  // Subtracts this request, which is counted as well.
  const counted = ample.perDay - (await client.get('/pets?limit=1')).remaining - 1;
  if (counted < answered || counted > answered + cutOff) {
    throw new Error(`${counted} requests were counted: ${answered} got responses, ${cutOff} were cut off.`);
  }
  const names = await allNames(client);
  const stored = new Set(names);
  const lost = load.acknowledged.filter((name) => !stored.has(name));
  if (lost.length > 0) throw new Error(`Acknowledged animals were lost: ${lost.join(', ')}.`);
  if (stored.size < names.length) throw new Error('An animal was stored twice.');
  return {
    ...{ answered, acknowledged: acknowledged.length, cutOff, chargedUnanswered: counted - answered },
    failures,
  };
}
