/**
 * HTTP framing attacks, sent directly and through proxies. The service and the proxies must agree on the number of
 * requests.
 */
import { connect } from 'node:net';
import { issueKey } from '../support/process.ts';
import { Failures, same } from './failures.ts';
import { bytesOf, type HttpRequest } from './generate/http.ts';
import { proxyBefore } from './proxies.ts';
import { type Attack, animal } from './raw-attacks-kit.ts';
import { attackTable } from './raw-attacks-table.ts';
import { type ProvingService, provingService } from './service.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { Wire } from './wire.ts';

/** After this time without data, a connection has probably received all responses. `#settled` verifies this. */
const quietMs = 150;
/** Distinct quotas identify the account in response headers. */
const quotas = { open: 900_000_001, hidden: 900_000_002, victim: 900_000_003, bystander: 900_000_004 };
type Who = keyof typeof quotas;

class Battlefield implements Disposable {
  readonly #keys: Readonly<Record<Who, string>>;
  readonly #direct: Wire;
  readonly attacks: readonly Attack[];
  /** Number of create requests whose response was lost because another request followed on the same connection. */
  dropped = 0;

  private constructor(service: ProvingService, keys: Readonly<Record<Who, string>>) {
    this.#keys = keys;
    this.#direct = new Wire(service.url);
    this.attacks = attackTable(keys);
  }

  static async open(service: ProvingService): Promise<Battlefield> {
    const key = (who: Who) =>
      issueKey(service.folder, 'enterprise', { perMinute: quotas[who], perDay: 1_000_000_000 });
    return new Battlefield(service, {
      open: await key('open'),
      hidden: await key('hidden'),
      victim: await key('victim'),
      bystander: await key('bystander'),
    });
  }

  /**
   * Remaining requests for both keys of an attack, and for clients without a key. Each of the three reads counts as a
   * request.
   */
  async #charged(): Promise<number[]> {
    const counts: number[] = [];
    for (const key of [this.#keys.open, this.#keys.hidden, undefined]) {
      const { headers } = await this.#direct.send(bytesOf(getOf(key)));
      // Uses the daily window, because the minute may end between two reads.
      const ofDay = /"day";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1];
      counts.push(Number(ofDay ?? headers.get('x-ratelimit-remaining')));
    }
    return counts;
  }

  /**
   * Sends an attack to `url` while a victim sends requests to the same `url`. Throws if the counts or the victim's
   * responses are wrong.
   */
  async attack(url: string, { bytes }: Attack, victim: Wire, id: string): Promise<void> {
    const before = await this.#charged();
    const [stream] = await Promise.all([
      everything(url, bytes, () => this.#settled()),
      this.#victim(victim, `${id}-during`),
    ]);
    for (let call = 0; call < 3; call++) await this.#victim(victim, `${id}-after-${call}`);
    const after = await this.#charged();
    const [open = 0, hidden = 0, keyless = 0] = before.map((count, index) => count - (after[index] ?? 0) - 1);
    const answers = stream.match(/HTTP\/1\.[01] [2-5]\d\d/g)?.length ?? 0;
    const ofHidden = stream.split(`"minute";q=${quotas.hidden};`).length - 1;
    const checked = stream.match(/^X-RateLimit-Limit:/gim)?.length ?? 0;
    // Requests without a key are counted per minute. A negative difference means that a new minute has begun.
    const counted = open + hidden + Math.max(0, keyless);
    const counts = `the service counted ${open} + ${hidden} + ${keyless} requests: ${JSON.stringify(stream.slice(0, 600))}`;
    if (hidden !== ofHidden) throw new Error(`${ofHidden} hidden requests got responses, but ${counts}`);
    if (keyless >= 0 && checked > counted)
      throw new Error(`${checked} requests got responses, but ${counts}`);
    // If another request arrives while a create request waits for the disk, the runtime closes the connection, and the
    // response is lost.
    if (counted > answers) this.dropped++;
    if (counted > answers + 1) throw new Error(`only ${answers} requests got responses, but ${counts}`);
    if (stream.includes(`"minute";q=${quotas.victim}`))
      throw new Error(`the attacker got the victim's response: ${counts}`);
  }

  /**
   * Resolves when all earlier requests have received responses. The service responds in order of arrival, except to
   * create requests, to which it responds in commit order. The second create request therefore gets its response after
   * all earlier ones.
   */
  async #settled(): Promise<void> {
    const headers = [...getOf(this.#keys.bystander).headers, ['Content-Type', 'application/json'] as const];
    const request = { method: 'POST', target: '/pets', headers, body: Buffer.from(animal) };
    for (const _ of ['first', 'second']) {
      same('the status of a bystander', (await this.#direct.send(bytesOf(request))).status, 201);
    }
  }

  /** Checks that the victim's response is a 404 with the victim's request id and quota. */
  async #victim(wire: Wire, id: string): Promise<void> {
    const request = getOf(this.#keys.victim, [['X-Request-Id', id]]);
    const { status, headers } = await wire.send(bytesOf(request)).catch((error: Error) => {
      throw new Error(`the victim's request ${id}: ${error.message}`);
    });
    same('the status of the victim', status, 404);
    same('the id of the victim', headers.get('x-request-id'), id);
    const policy = headers.get('ratelimit-policy') ?? '';
    if (!policy.startsWith(`"minute";q=${quotas.victim};`))
      throw new Error(`the victim got another account's response: ${policy}`);
  }

  [Symbol.dispose](): void {
    this.#direct[Symbol.dispose]();
  }
}

function getOf(key: string | undefined, more: HttpRequest['headers'] = []): HttpRequest {
  const own: HttpRequest['headers'] = key === undefined ? [] : [['Authorization', `Bearer ${key}`]];
  return { method: 'GET', target: '/pets/0', headers: [...own, ...more] };
}

/**
 * Sends the bytes and returns all data received until the connection is closed, or until no more data arrives and all
 * requests have got responses.
 */
async function everything(url: string, bytes: string, settled: () => Promise<void>): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // The connection may be reset while a rejected attack is still being written.
  socket.on('error', () => resolve());
  socket.on('close', () => resolve());
  const onSilence = () => {
    const received = chunks.length;
    settled().then(() => chunks.length === received && resolve(), reject);
  };
  // Each received chunk restarts the timeout.
  socket.write(Buffer.from(bytes, 'latin1'), () => socket.setTimeout(quietMs, onSilence));
  try {
    await promise;
  } finally {
    socket.destroy();
  }
  return Buffer.concat(chunks).toString('latin1');
}

async function through(
  name: string,
  url: string,
  field: Battlefield,
  failures: Failures,
  { rounds, progress }: StressOptions,
) {
  using victim = new Wire(url);
  for (let round = 1; round <= rounds; round++) {
    for (const [index, attack] of field.attacks.entries()) {
      progress(`${name}: round ${round} of ${rounds}, attack ${index} of ${field.attacks.length}`);
      const id = `${name}-${round}-${index}`;
      await failures.guard(`${id} (${attack.what})`, () => field.attack(url, attack, victim, id));
    }
  }
}

/** `rounds` is the number of times the whole table is sent, directly and through each proxy. */
export async function rawAttacks(
  options: StressOptions,
  behind: readonly ('nginx' | 'haproxy')[] = ['nginx', 'haproxy'],
) {
  await using service = await provingService();
  using field = await Battlefield.open(service);
  const failures = new Failures(options.seed);
  const places = ['directly'];
  await through('directly', service.url, field, failures, options);
  for (const name of behind) {
    await using proxy = await proxyBefore(name, service.url);
    if (proxy === undefined) continue;
    await through(name, proxy.url, field, failures, options);
    places.push(`behind ${name}`);
  }
  service.checkRunning();
  failures.end();
  return {
    attacks: field.attacks.length,
    places: places.join(', '),
    'create requests without a response': field.dropped,
  };
}

export const attacks: StressTest = {
  name: 'raw-attacks',
  promise:
    'HTTP framing attacks, sent directly and through proxies, never make two parsers see different requests, and never ' +
    "return another key's response",
  rounds: 1,
  run: rawAttacks,
};
