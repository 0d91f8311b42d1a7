/** Many workers on one key, in one client and in clients of several processes: nobody is banned, and waits are kept. */
import { join } from 'node:path';
import type { KeyPenalty } from '../../src/domain/limit.ts';
import { plans, type Quota } from '../../src/domain/plan.ts';
import { type EmbeddedStores, embeddedStores } from '../process/worker-stores.ts';
import { passSeconds, penaltyIn } from '../support/limit-file.ts';
import { limitFileIn, start } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { same } from './failures.ts';
import { isQuestion, type Recorded, recordingProxy, sentDuringWaits } from './recording-proxy.ts';
import type { Figures, StressTest } from './stress-test.ts';

/** How the workers of one key are spread. */
export interface Spread {
  readonly title: string;
  readonly processes: number;
  readonly clientsEach: number;
  readonly callsEach: number;
  /** How often each client asks what is left of the limits, in ms; 0: never. */
  readonly askMs: number;
}

const spreads: readonly Spread[] = [
  { title: '64 calls of one client', processes: 1, clientsEach: 1, callsEach: 64, askMs: 0 },
  { title: '8 processes with 8 calls of one client', processes: 8, clientsEach: 1, callsEach: 8, askMs: 0 },
  { title: '8 processes with 8 clients', processes: 8, clientsEach: 8, callsEach: 1, askMs: 0 },
  { title: 'the same, asking what is left', processes: 8, clientsEach: 8, callsEach: 1, askMs: 2_000 },
];

export interface WorkersOptions {
  readonly quota: Quota;
  /** How much of the first minute has passed when the workers begin. */
  readonly passedSeconds: number;
  /** They end when the service has admitted so many requests. */
  readonly admitted: number;
  readonly progress: (line: string) => void;
}

const program = join(import.meta.dir, 'client-worker.ts');

const isAdmitted = (request: Recorded) => request.status === 200 && !isQuestion(request);

/** Starts the workers of a key of their own, and ends them. Throws when a client was banned, or sent during a wait. */
export async function work(
  stores: EmbeddedStores,
  serviceUrl: string,
  { title, processes, clientsEach, callsEach, askMs }: Spread,
  { quota, passedSeconds, admitted, progress }: WorkersOptions,
): Promise<Figures> {
  await using proxy = recordingProxy([serviceUrl]);
  const { key, keyId, accountId } = await stores.issueKey(quota);
  const limits = limitFileIn(stores.folder);
  // Opens the window.
  await fetch(`${proxy.urlFor('first')}/v1/inventory`, { headers: { Authorization: `Bearer ${key}` } });
  passSeconds(limits, accountId, passedSeconds);
  const admittedNow = () => proxy.requests.filter(isAdmitted).length;
  {
    await using started = new AsyncDisposableStack();
    const programs = Array.from({ length: processes }, (_, number) => {
      const urls = Array.from({ length: clientsEach }, (_, client) => proxy.urlFor(`${number}-${client}`));
      const command = [process.execPath, program, String(callsEach), String(askMs), ...urls];
      return started.use(start(command, { environment: { KEY: key } }));
    });
    const said = () => programs.map(({ stdout, stderr }) => stdout() + stderr()).join('');
    await until(() => {
      progress(`${title}: ${admittedNow()} of ${admitted} requests admitted`);
      return admittedNow() >= admitted || said() !== '';
    }, Number.POSITIVE_INFINITY);
    same(`what the workers threw, ${title}`, said(), '');
  }
  return figuresOf(title, proxy.requests, penaltyIn(limits, keyId));
}

function figuresOf(title: string, requests: readonly Recorded[], { strikes, banLevel }: KeyPenalty): Figures {
  const refused = requests.filter(({ status }) => status === 429).length;
  const served = requests.filter(isAdmitted).length;
  const questions = requests.filter(isQuestion).length;
  same(`other answers, ${title}`, requests.length - served - refused - questions, 0);
  same(`bans, ${title}`, banLevel, 0);
  same(`requests sent during a wait, ${title}`, sentDuringWaits(requests).length, 0);
  return {
    [`${title}: admitted`]: served,
    [`${title}: refused`]: refused,
    [`${title}: strikes`]: strikes.length,
  };
}

/** `rounds` is the number of minutes. */
export const clientWorkers: StressTest = {
  name: 'client-workers',
  promise:
    '64 workers on one Free key, as calls of one client, and as clients of eight processes, are not banned, and no client sends a request during its wait (rounds: minutes)',
  rounds: 3,
  async run({ rounds, progress }) {
    await using stores = await embeddedStores();
    const service = await stores.startInstance();
    const options = {
      quota: plans.free,
      passedSeconds: 0,
      admitted: rounds * plans.free.perMinute + 1,
      progress,
    };
    const figures = await Promise.all(spreads.map((spread) => work(stores, service.url, spread, options)));
    return Object.assign({}, ...figures) as Figures;
  },
};
