/**
 * Keys whose requests must be rejected during every fault: banned keys, and keys of accounts with an exhausted daily
 * quota.
 */
import { SQL } from 'bun';
import { clientOf } from '../support/client.ts';
import type { Cluster } from '../support/cluster.ts';
import { until } from '../support/wait.ts';
import type { StressResult } from './stress-test.ts';

const ofEachKind = 10;
/** Maximum time until a snapshot has been saved. Snapshots are saved every 10 s. */
const savedWithinMs = 30_000;
/** Rejections within this time after the first rejection do not count as strikes. */
const graceMs = 1_100;

interface RefusedKey {
  readonly key: string;
  readonly keyId: number;
  readonly kind: 'banned' | 'exhausted';
}

export class Refused {
  readonly #keys: readonly RefusedKey[];
  /** Banned keys, which `toLift` returns one at a time. */
  readonly #toLift: RefusedKey[];
  #checked = 0;
  #unavailable = 0;
  #slowestMs = 0;

  private constructor(keys: readonly RefusedKey[], toLift: RefusedKey[]) {
    this.#keys = keys;
    this.#toLift = toLift;
  }

  /**
   * Creates the keys, sends requests to one instance until each key is banned or its quota is exhausted, and waits
   * until PostgreSQL has stored the bans and counts.
   */
  static async prepare(cluster: Cluster, url: string, lifts: number): Promise<Refused> {
    const keys: RefusedKey[] = [];
    for (let index = 0; index < ofEachKind * 2 + lifts; index++) {
      const kind = index % 2 === 0 || index >= ofEachKind * 2 ? 'banned' : 'exhausted';
      // Both an exhausted daily quota and a one-hour ban last longer than the test.
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

  /** Returns a banned key, so that the caller can lift its ban. The key is no longer checked. */
  toLift(): RefusedKey {
    const next = this.#toLift.pop();
    if (next === undefined) throw new Error('There is no banned key left.');
    return next;
  }

  /** Sends a request with each key to every instance. Throws unless each request is rejected with the right error. */
  async check(during: string, urls: readonly string[]): Promise<void> {
    const asked = urls.flatMap((url) =>
      this.#keys.map(async ({ key, kind }) => {
        const { status, text, tookMs } = await clientOf(url, key).get('/pets?limit=1');
        this.#checked++;
        this.#slowestMs = Math.max(this.#slowestMs, Math.round(tookMs));
        if (status === 503) this.#unavailable++;
        else if (status !== 429) throw new Error(`${during}: a key that is ${kind} got ${status} ${text}`);
        else if (kind === 'banned' && !text.includes('api_key_banned')) {
          throw new Error(`${during}: a ban was lost: ${text}`);
        }
      }),
    );
    await Promise.all(asked);
  }

  figures(): StressResult {
    return {
      'requests with banned keys or exhausted quotas': this.#checked,
      'of these accepted': 0,
      'of these rejected with 503': this.#unavailable,
      'slowest of these in ms': this.#slowestMs,
    };
  }
}

/** Sends requests until one is rejected with this error code. */
async function untilRefused(url: string, key: string, code: string): Promise<void> {
  const client = clientOf(url, key);
  await until(async () => (await client.get('/pets?limit=1')).text.includes(code), savedWithinMs);
}
