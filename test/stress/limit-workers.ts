/** Several workers, one account, two keys: each window admits exactly its limit, whoever counts. */
import { embeddedStores } from '../process/worker-stores.ts';
import { passSeconds } from '../support/limit-file.ts';
import { limitFileIn } from '../support/process.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { bytesOf } from './generate/http.ts';
import type { StressTest } from './stress-test.ts';
import { type WireResponse, Wires } from './wire.ts';

const workers = 4;
const connections = 64;
/** Of the minute. */
const limit = 500;

const settings = {
  WORKERS: String(workers),
  LOG_LEVEL: 'warn',
  // Refusals are counted here, not punished.
  BAN_STRIKES: '1000',
  BAN_WITHIN_SECONDS: '1',
};

export const limitWorkers: StressTest = {
  name: 'limit-workers',
  promise: `${workers} workers together admit exactly the limit of an account in each window, and give each Remaining once`,
  rounds: 200,
  async run({ rounds, seed, progress }) {
    await using stores = await embeddedStores();
    const service = await stores.startInstance(settings);
    const { key, accountId } = await stores.issueKey({ perMinute: limit, perDay: 1_000_000_000 });
    const second = await stores.operator.keys.create(accountId, 'second');
    const requests = [key, second.key].map((each) =>
      bytesOf({ method: 'GET', target: '/pets?limit=1', headers: [['Authorization', `Bearer ${each}`]] }),
    );
    using wires = new Wires(service.url, connections);
    const failures = new Failures(seed);
    const byProcess = new Map<string, number>();
    let refused = 0;
    for (let window = 0; window < rounds && failures.count === 0; window++) {
      progress(`${window} of ${rounds} windows`);
      await failures.guard(window, async () => {
        const chance = new Chance(seed, window);
        const responses: WireResponse[] = [];
        const order = Array.from({ length: limit + chance.int(1, limit / 5) }, () => chance.pick(requests));
        await wires.each(order.length, async (wire, index) => {
          responses.push(await wire.send(order[index] as Uint8Array));
        });
        refused += checkWindow(responses);
        for (const { headers } of responses) {
          const process = headers.get('x-request-id')?.replace(/-\d+$/, '') ?? '';
          byProcess.set(process, (byProcess.get(process) ?? 0) + 1);
        }
        passSeconds(limitFileIn(stores.folder), accountId);
      });
    }
    failures.end();
    same('how many workers took part', byProcess.size, workers);
    return {
      admitted: rounds * limit,
      refused,
      'fewest requests of a worker': Math.min(...byProcess.values()),
    };
  },
};

/** Returns how many were refused. Throws unless all others are the limit, each with its own count. */
function checkWindow(responses: readonly WireResponse[]): number {
  const admitted = responses.filter(({ status }) => status === 200);
  same('admitted', admitted.length, limit);
  const remaining = admitted.map(({ headers }) => Number(headers.get('x-ratelimit-remaining')));
  remaining.sort((one, other) => one - other);
  same('each Remaining', remaining.join(), Array.from({ length: limit }, (_, value) => value).join());
  const refused = responses.filter(({ status }) => status !== 200);
  for (const { status } of refused) same('the status of a refusal', status, 429);
  return refused.length;
}
