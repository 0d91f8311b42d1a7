/** Limits on resolving the host names of webhooks, because clients choose the name servers. */
import { describe, expect, test } from 'bun:test';
import { checkEndpoint, type Resolve } from '../../src/webhooks/endpoint.ts';
import {
  createBoundedResolver,
  maxResolved,
  type ResolveFor,
  systemResolve,
} from '../../src/webhooks/resolver.ts';
import { ThreadTimeBudget } from '../../src/webhooks/thread-time-budget.ts';
import { FakeClock } from '../support/clock.ts';
import { until } from '../support/wait.ts';

const addresses = (count: number) =>
  Array.from({ length: count }, (_, index) => `8.8.${index >> 8}.${index & 255}`);

/** A resolver that records the names it is called with. */
function recording(resolve: Resolve) {
  const asked: string[] = [];
  const recorded: Resolve = (name) => {
    asked.push(name);
    return resolve(name);
  };
  return { asked, recorded };
}

const mistakeIn = (resolve: ResolveFor, host = 'shop.example', accountId = 1) =>
  checkEndpoint(`https://${host}/`, { resolve: (name) => resolve(name, accountId), allowed: [] });

/** A resolver that responds to a name when the test says so. */
function manual() {
  const asked: string[] = [];
  const answers = new Map<string, (addresses: readonly string[]) => void>();
  const resolve: Resolve = (name) => {
    asked.push(name);
    return new Promise((answer) => answers.set(name, answer));
  };
  return { asked, resolve, answer: (name: string) => answers.get(name)?.(['8.8.8.8']) };
}

describe('a host name', () => {
  test('may have 64 addresses, all of which are checked', async () => {
    const clock = new FakeClock();
    expect(
      await mistakeIn(createBoundedResolver(async () => addresses(maxResolved), { clock })),
    ).toBeUndefined();
    const inward = [...addresses(maxResolved - 1), '10.0.0.1'];
    expect(await mistakeIn(createBoundedResolver(async () => inward, { clock }))).toContain(
      'an address that is private',
    );
  });

  test('with more than 64 addresses is rejected, and is not looked up again for a minute', async () => {
    const clock = new FakeClock();
    const { asked, recorded } = recording(async () => addresses(6_410));
    const resolve = createBoundedResolver(recorded, { clock });
    const mistake = 'must have a host that can be resolved (shop.example: more than 64 addresses)';
    expect([await mistakeIn(resolve), await mistakeIn(resolve), asked.length]).toEqual([mistake, mistake, 1]);
    clock.advance(59.999);
    expect([await mistakeIn(resolve), asked.length]).toEqual([mistake, 1]);
    clock.advance(0.001);
    expect([await mistakeIn(resolve), asked.length]).toEqual([mistake, 2]);
  });

  test('is looked up once for concurrent requests, and again for later ones', async () => {
    const { asked, recorded } = recording(async () => ['8.8.8.8']);
    const resolve = createBoundedResolver(recorded, { clock: new FakeClock() });
    const same = await Promise.all([
      resolve('a.example', 1),
      resolve('a.example', 1),
      resolve('b.example', 1),
    ]);
    expect([same, asked]).toEqual([
      [['8.8.8.8'], ['8.8.8.8'], ['8.8.8.8']],
      ['a.example', 'b.example'],
    ]);
    await resolve('a.example', 1);
    expect(asked).toHaveLength(3);
  });

  test('is rejected if its name server does not respond in time, and is not looked up again for a minute', async () => {
    const clock = new FakeClock();
    const { asked, recorded } = recording(() => new Promise(() => undefined));
    const resolve = createBoundedResolver(recorded, { clock, timeoutMs: 10 });
    const mistake = 'must have a host that can be resolved (shop.example: no answer within 0.01 s)';
    expect([await mistakeIn(resolve), await mistakeIn(resolve), asked.length]).toEqual([mistake, mistake, 1]);
    clock.advance(60);
    expect([await mistakeIn(resolve), asked.length]).toEqual([mistake, 2]);
  });

  test('is not looked up again for a minute after a timeout of the resolver, but is looked up immediately after any other error', async () => {
    for (const [code, lookups] of [
      ['DNS_ETIMEOUT', 1],
      ['DNS_ENOTFOUND', 2],
    ] as const) {
      const { asked, recorded } = recording(async () => {
        throw Object.assign(new Error(), { code });
      });
      const resolve = createBoundedResolver(recorded, { clock: new FakeClock() });
      expect(await mistakeIn(resolve)).toContain(code);
      expect(await mistakeIn(resolve)).toContain(code);
      expect(asked).toHaveLength(lookups);
    }
  });

  test('that was rejected for one account is looked up for another', async () => {
    const { asked, recorded } = recording(async () => addresses(maxResolved + 1));
    const resolve = createBoundedResolver(recorded, { clock: new FakeClock() });
    for (const accountId of [1, 2, 1, 2]) await mistakeIn(resolve, 'shop.example', accountId);
    expect(asked).toHaveLength(2);
  });
});

describe('an account', () => {
  const names = Array.from({ length: 9 }, (_, at) => `host${at}.example`);

  test('has at most four lookups in flight; the others begin in order, and other accounts do not wait for them', async () => {
    const { asked, resolve, answer } = manual();
    const lookUp = createBoundedResolver(resolve, { clock: new FakeClock() });
    const found = names.map((name) => lookUp(name, 1));
    await until(() => asked.length === 4);
    const other = lookUp('other.example', 2);
    await until(() => asked.length === 5);
    answer('other.example');
    expect(await other).toEqual(['8.8.8.8']);
    for (const [at, name] of names.entries()) {
      await until(() => asked.includes(name));
      expect(asked).toHaveLength(Math.min(names.length, at + 4) + 1);
      answer(name);
      await found[at];
    }
    expect(asked.filter((name) => name !== 'other.example')).toEqual(names);
  });

  test('whose lookups do not end gets an error for further host names, which are not looked up', async () => {
    const { asked, resolve } = manual();
    const lookUp = createBoundedResolver(resolve, { clock: new FakeClock(), timeoutMs: 10 });
    const mistakes = await Promise.all(names.map((name) => mistakeIn(lookUp, name)));
    expect(mistakes[0]).toContain('no answer within');
    expect(mistakes[8]).toContain('too many other lookups are in progress');
    const many = Array.from({ length: 70 }, (_, at) => mistakeIn(lookUp, `many${at}.example`));
    expect(await many[69]).toContain('too many other lookups are in progress');
    await Promise.all(many);
    expect(asked).toEqual(names.slice(0, 4));
  });

  test('must wait ten times as long as its answers took to process, but other accounts need not', async () => {
    let [now, used] = [0, 0];
    const time = new ThreadTimeBudget({ now: () => now, used: () => used });
    const { asked, recorded } = recording(async () => {
      // The runtime processes the answer.
      used += asked.length === 1 ? 905 : 1;
      return ['8.8.8.8'];
    });
    const lookUp = createBoundedResolver(recorded, { clock: new FakeClock(), time });
    expect(await mistakeIn(lookUp, 'costly.example')).toBeUndefined();
    const mistake = (seconds: number) =>
      `must have a host that can be resolved (a.example: its name server's answers take too long to process; try again in ${seconds} s)`;
    expect(await mistakeIn(lookUp, 'a.example')).toBe(mistake(7));
    expect(await mistakeIn(lookUp, 'a.example', 2)).toBeUndefined();
    now += 6_999;
    expect(await mistakeIn(lookUp, 'a.example')).toBe(mistake(1));
    now += 1;
    expect(await mistakeIn(lookUp, 'a.example')).toBeUndefined();
    expect(asked).toHaveLength(3);
  });
});

test("the system's resolver returns addresses, or an error with a code", async () => {
  expect(await systemResolve('localhost')).toContain('127.0.0.1');
  const resolve = createBoundedResolver(systemResolve, { clock: new FakeClock() });
  expect(await mistakeIn(resolve, 'no..example')).toMatch(/no\.\.example: \w*E\w+\)$/);
});
