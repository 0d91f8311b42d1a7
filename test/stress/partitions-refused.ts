/** Keys that must be refused during every fault: banned keys and keys of accounts without remaining daily requests. */
import { SQL } from 'bun';
import { clientOf } from '../support/client.ts';
import type { Cluster } from '../support/cluster.ts';
import { until } from '../support/wait.ts';
import type { Figures } from './stress-test.ts';

const ofEachKind = 10;
/** Snapshots are saved every 10 s. */
const savedWithinMs = 30_000;
/** Refusals within this time after the first one are not strikes. */
const graceMs = 1_100;

interface RefusedKey {
  readonly key: string;
  readonly keyId: number;
  readonly kind: 'banned' | 'exhausted';
}

export class Refused {
  readonly #keys: readonly RefusedKey[];
  /** Banned keys for `toLift`. */
  readonly #toLift: RefusedKey[];
  #checked = 0;
  #unavailable = 0;
  #slowestMs = 0;

  private constructor(keys: readonly RefusedKey[], toLift: RefusedKey[]) {
    this.#keys = keys;
    this.#toLift = toLift;
  }

  /** Creates the keys at one instance, including banned keys to lift, and waits until PostgreSQL has them. */
  static async prepare(cluster: Cluster, url: string, lifts: number): Promise<Refused> {
    const keys: RefusedKey[] = [];
    for (let index = 0; index < ofEachKind * 2 + lifts; index++) {
      const kind = index % 2 === 0 || index >= ofEachKind * 2 ? 'banned' : 'exhausted';
      // Both an exhausted day and a ban of an hour outlast the test.
      const { key, keyId } = await cluster.issueKey({ perMinute: 5, perDay: 5 });
      await untilRefused(url, key, 'daily_quota_exceeded');
      keys.push({ key, keyId, kind });
    }
    await Bun.sleep(graceMs);
    for (const { key, kind } of keys) if (kind === 'banned') await untilRefused(url, key, 'api_key_banned');
    await using sql = new SQL(cluster.postgres.url, { max: 1 });
    await until(async () => {
      const [{ saved }] = await sql`SELECT count(*)::int AS saved FROM usage_snapshots WHERE day_count >= 5`;
      const [{ bans }] = await sql`SELECT count(*)::int AS bans FROM ban_snapshots`;
      return saved >= keys.length && bans >= ofEachKind + lifts;
    }, savedWithinMs);
    return new Refused(keys, keys.splice(ofEachKind * 2));
  }

  /** Returns a banned key whose ban will be lifted. The key is no longer checked. */
  toLift(): RefusedKey {
    const next = this.#toLift.pop();
    if (next === undefined) throw new Error('Every ban is lifted.');
    return next;
  }

  /** Sends a request with each key to every instance. Throws if one is accepted or refused for another reason. */
  async check(during: string, urls: readonly string[]): Promise<void> {
    const asked = urls.flatMap((url) =>
      this.#keys.map(async ({ key, kind }) => {
        const { status, text, tookMs } = await clientOf(url, key).get('/pets?limit=1');
        this.#checked++;
        this.#slowestMs = Math.max(this.#slowestMs, Math.round(tookMs));
        if (status === 503) this.#unavailable++;
        else if (status !== 429) throw new Error(`${during}: a key that is ${kind} got ${status} ${text}`);
        else if (kind === 'banned' && !text.includes('api_key_banned')) {
          throw new Error(`${during}: a ban is forgotten: ${text}`);
        }
      }),
    );
    await Promise.all(asked);
  }

  figures(): Figures {
    return {
      'requests of banned keys and exhausted days': this.#checked,
      'of these admitted': 0,
      'of these 503': this.#unavailable,
      'slowest of these in ms': this.#slowestMs,
    };
  }
}

/** Sends requests until one is refused for this reason. */
async function untilRefused(url: string, key: string, code: string): Promise<void> {
  const client = clientOf(url, key);
  await until(async () => (await client.get('/pets?limit=1')).text.includes(code), savedWithinMs);
}
