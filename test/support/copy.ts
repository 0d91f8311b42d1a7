/** Compares the copy that `examples/mirror.ts` keeps with the store. */
import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { until } from './wait.ts';

/** A service, and a key with all read scopes. */
export interface Original {
  readonly url: string;
  readonly key: string;
}

const lists = { pet: 'pets', category: 'categories', order: 'orders' } as const;

type Kind = keyof typeof lists;

const everything = Object.keys(lists) as Kind[];

/** The first differences between a copy and an idle store, compared byte for byte. Undefined if both are equal. */
export async function differenceOf(
  file: string,
  original: Original,
  kinds: readonly Kind[] = everything,
): Promise<object | undefined> {
  for (const kind of everything) {
    const stored = kinds.includes(kind) ? (await allOf(original, lists[kind])).sort() : [];
    const copied = resourcesOf(file, kind).sort();
    const missing = notIn(stored, copied);
    const surplus = notIn(copied, stored);
    if (missing.length + surplus.length > 0 || stored.length !== copied.length)
      return { kind, stored: stored.length, copied: copied.length, missing, surplus };
  }
  return undefined;
}

/** Resolves when the copy includes the store's newest event. */
export async function caughtUp(file: string, original: Original, withinMs?: number): Promise<void> {
  const link = (await get(original, '/events?order=desc&limit=1')).headers.get('link') ?? '';
  const [, newest = ''] = /after=(\d+)/.exec(link) ?? [];
  await until(() => (positionOf(file) ?? -1n) >= BigInt(newest), withinMs);
}

/** Id of the last event in the copy. Undefined until the initial copy is complete. */
function positionOf(file: string): bigint | undefined {
  if (!existsSync(file)) return undefined;
  using copy = new Database(file, { safeIntegers: true });
  const [table] = copy.query("SELECT 1 FROM sqlite_schema WHERE name = 'position'").all();
  if (table === undefined) return undefined;
  return copy.query<{ event: bigint }, []>('SELECT event FROM position').get()?.event;
}

function resourcesOf(file: string, kind: string): string[] {
  using copy = new Database(file, { readonly: true });
  const query = copy.query<{ json: string }, [string]>('SELECT json FROM resources WHERE kind = ?');
  return query.all(kind).map(({ json }) => json);
}

/** All resources of a list, each as the service serialized it. */
async function allOf(original: Original, list: string): Promise<string[]> {
  const all: string[] = [];
  let path: string | undefined = `/${list}?limit=100`;
  while (path !== undefined) {
    const response = await get(original, path);
    const text = await response.text();
    // Quotation marks within strings are escaped, so this pattern occurs only between resources.
    if (text !== '[]') all.push(...text.slice(1, -1).split(/(?<=\}),(?=\{"id":)/));
    path = /\/v1([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  }
  return all;
}

async function get({ url, key }: Original, path: string): Promise<Response> {
  const response = await fetch(`${url}/v1${path}`, { headers: { Authorization: `Bearer ${key}` } });
  if (response.ok) return response;
  throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
}

/** The first ten strings of `some` that are missing from `others`. */
function notIn(some: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  return some.filter((each) => !known.has(each)).slice(0, 10);
}
