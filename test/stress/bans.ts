/** Clients that keep to Retry-After are never banned; those that do not always are, for exactly as long as announced. */
import { startTestApp, type TestApp } from '../support/app.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { bytesOf } from './generate/http.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { type Wire, type WireResponse, Wires } from './wire.ts';

const connections = 64;
/** Keys that are there at the same time; the clock is theirs together. Clients come and go on them. */
const crowd = 1_000;
/** How many requests a client sends that are under way when its first 429 comes. */
const mostInFlight = 150;
/** How many hammer, for each key there is. */
const hammerers = 0.1;
const strikes = 100;

interface Client {
  readonly key: string;
  chance: Chance;
  readonly perMinute: number;
}

const ask = (wire: Wire, { key }: Client): Promise<WireResponse> =>
  wire.send(
    bytesOf({ method: 'GET', target: '/pets?limit=1', headers: [['Authorization', `Bearer ${key}`]] }),
  );

const codeOf = ({ text }: WireResponse): string => (JSON.parse(text) as { code?: string }).code ?? 'none';

class Crowd {
  readonly #app: TestApp;
  readonly clients: Client[] = [];
  readonly failures: Failures;
  requests = 0;

  constructor(app: TestApp, failures: Failures) {
    this.#app = app;
    this.failures = failures;
  }

  async gather(seed: number, from: number, count: number): Promise<void> {
    for (let index = from; index < from + count; index++) {
      const chance = new Chance(seed, index);
      const perMinute = chance.int(1, 4);
      const { key } = await this.#app.tenant('enterprise', { perMinute, perDay: 1_000_000 });
      this.clients.push({ key, chance, perMinute });
    }
  }

  /** Other clients come, with the same keys. */
  succeed(seed: number, from: number): void {
    for (const [index, client] of this.clients.entries()) client.chance = new Chance(seed, from + index);
  }

  /** Every client uses its window up, has some more under way within a second, and waits exactly as told. */
  async politeWindow(): Promise<void> {
    const { clock } = this.#app;
    let longestSeconds = 0;
    await this.#each(async (wire, client) => {
      for (let sent = 0; sent < client.perMinute; sent++)
        same('a request within the limit', (await this.#ask(wire, client)).status, 200);
      longestSeconds = Math.max(longestSeconds, await this.#refused(wire, client));
    });
    clock.advance(0.999);
    await this.#each(async (wire, client) => {
      const more = client.chance.often(0.01) ? client.chance.int(0, mostInFlight) : client.chance.int(0, 2);
      for (let sent = 0; sent < more; sent++) await this.#refused(wire, client);
    });
    clock.advance(longestSeconds - 0.999);
  }

  async #refused(wire: Wire, client: Client): Promise<number> {
    const response = await this.#ask(wire, client);
    same('a request beyond the limit', codeOf(response), 'rate_limit_exceeded');
    return Number(response.headers.get('retry-after'));
  }

  async #ask(wire: Wire, client: Client): Promise<WireResponse> {
    this.requests++;
    return ask(wire, client);
  }

  /** Every client goes on after 429: its hundredth strike bans it, until exactly the announced second. */
  async hammer(restart: boolean): Promise<void> {
    const { clock } = this.#app;
    await this.#each(async (wire, client) => {
      for (let sent = 0; sent < client.perMinute; sent++) await this.#ask(wire, client);
      await this.#refused(wire, client);
    });
    clock.advance(1);
    await this.#each(async (wire, client) => {
      for (let strike = 1; strike < strikes; strike++) await this.#refused(wire, client);
      const banned = await this.#ask(wire, client);
      same('the hundredth strike', codeOf(banned), 'api_key_banned');
      same('Retry-After of a first ban', banned.headers.get('retry-after'), '120');
      same('Reset of a first ban', banned.headers.get('x-ratelimit-reset'), String(clock.seconds + 120));
    });
    await this.#end(clock.seconds + 120, restart);
  }

  async #end(until: number, restart: boolean): Promise<void> {
    if (restart) await this.#app.restart();
    this.#app.clock.set(until * 1_000 - 1);
    await this.#each(async (wire, client) => {
      const response = await this.#ask(wire, client);
      same('a request a millisecond before the end of the ban', codeOf(response), 'api_key_banned');
      same('its Retry-After', response.headers.get('retry-after'), '1');
      same('its Reset', response.headers.get('x-ratelimit-reset'), String(until));
    });
    this.#app.clock.set(until * 1_000);
    await this.#each(async (wire, client) =>
      same('a request at the announced second', (await this.#ask(wire, client)).status, 200),
    );
  }

  /** A phase of the crowd, on connections of its own, for a restart ends those there were. */
  async #each(perform: (wire: Wire, client: Client) => Promise<unknown>): Promise<void> {
    using wires = new Wires(this.#app.url, connections);
    await wires.each(this.clients.length, (wire, index) =>
      this.failures.guard(index, async () => {
        await perform(wire, this.clients[index] as Client);
      }),
    );
  }
}

/** `rounds` is the number of polite clients; each lives through two windows and leaves its key to the next. */
export async function bansOnlyWhereDue({ rounds, seed, progress }: StressOptions) {
  await using app = await startTestApp();
  const failures = new Failures(seed);
  const polite = new Crowd(app, failures);
  await polite.gather(seed, 0, Math.min(crowd, rounds));
  for (let from = 0; from < rounds && failures.count === 0; from += crowd) {
    progress(`${from} of ${rounds} polite clients`);
    polite.succeed(seed, from);
    await polite.politeWindow();
    await polite.politeWindow();
  }
  let { requests } = polite;
  const hammering = Math.max(1, Math.round(Math.min(crowd, rounds) * hammerers));
  for (const [half, restart] of [false, true].entries()) {
    progress(`${hammering} hammering clients${restart ? ', with a restart' : ''}`);
    const impolite = new Crowd(app, failures);
    await impolite.gather(seed, -(half + 1) * hammering, hammering);
    await impolite.hammer(restart);
    requests += impolite.requests;
  }
  failures.end();
  const banned = `${2 * hammering}, half of them over a restart`;
  return {
    'polite clients': rounds,
    'on keys': polite.clients.length,
    'of them banned': 0,
    'hammering clients, all banned': banned,
    requests,
  };
}

export const bans: StressTest = {
  name: 'bans',
  promise:
    'clients that wait as told are never banned; those that hammer on always are, until exactly the announced second, ' +
    'and a restart in between changes nothing',
  rounds: 100_000,
  run: bansOnlyWhereDue,
};
