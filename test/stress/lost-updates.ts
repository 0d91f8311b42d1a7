/** Clients that change one animal, each only if it is as they read it: no change is lost. */
import { Failures, same } from './failures.ts';
import { bytesOf } from './generate/http.ts';
import { type ShopPlace, shopKinds } from './shop-places.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';
import { Wire, type WireResponse } from './wire.ts';

export const clients = 64;

interface Pet {
  readonly id: number;
  readonly name: string;
  readonly categoryId: number;
}

/** All clients, and the changes that were answered with 200: the name that each made of which. */
class Changes {
  readonly madeOf = new Map<string, string>();
  readonly #key: string;
  readonly #rounds: number;
  failed = 0;

  constructor(key: string, rounds: number) {
    this.#key = key;
    this.#rounds = rounds;
  }

  get isDone(): boolean {
    return this.madeOf.size >= this.#rounds;
  }

  send(wire: Wire, method: string, target: string, etag?: string, body?: object): Promise<WireResponse> {
    const headers: [string, string][] = [['Authorization', `Bearer ${this.#key}`]];
    if (etag !== undefined) headers.push(['If-Match', etag]);
    if (body === undefined) return wire.send(bytesOf({ method, target, headers }));
    headers.push(['Content-Type', 'application/json']);
    return wire.send(bytesOf({ method, target, headers, body: Buffer.from(JSON.stringify(body)) }));
  }

  /** Changes what it read and reads again, over and over: the next name counts on from the one it read. */
  async make(wire: Wire, client: number, target: string, firstRead: WireResponse): Promise<void> {
    let read = firstRead;
    for (let number = 0; ; number++) {
      same('the status of a read', read.status, 200);
      const before = JSON.parse(read.text) as Pet;
      const count = countOf(before);
      const after = { name: `${count + 1} by ${client}, ${number}`, categoryId: count + 1 };
      const etag = read.headers.get('etag') ?? '';
      const changed = await this.send(wire, 'PATCH', target, etag, after);
      if (changed.status === 412) this.failed++;
      else this.#keep(before, after, changed);
      if (this.isDone) return;
      read = await this.send(wire, 'GET', target);
    }
  }

  #keep(before: Pet, after: Omit<Pet, 'id'>, { status, text }: WireResponse): void {
    same('the status of a change', status, 200);
    const { name, categoryId } = JSON.parse(text) as Pet;
    same('the changed animal', `${name} ${categoryId}`, `${after.name} ${after.categoryId}`);
    const other = this.madeOf.get(before.name);
    if (other !== undefined) throw new Error(`"${other}" and "${name}" were both made of "${before.name}".`);
    this.madeOf.set(before.name, name);
  }
}

/** The name and the category change together, so an animal of two changes would show. */
function countOf({ name, categoryId }: Pet): number {
  const count = Number(/^\d+/.exec(name)?.[0]);
  same(`the category of "${name}"`, categoryId, count);
  return count;
}

/** `rounds` is the number of changes that are made; clients that were too late come on top. */
export async function noLostUpdate(
  { key, urls }: Pick<ShopPlace, 'key' | 'urls'>,
  { rounds, seed, progress }: StressOptions,
): Promise<Figures> {
  const changes = new Changes(key, rounds);
  const failures = new Failures(seed);
  const places = urls();
  using stack = new DisposableStack();
  const wires = Array.from({ length: clients }, (_, client) =>
    stack.use(new Wire(places[client % places.length] ?? '')),
  );
  const [first] = wires as [Wire];
  const made = await changes.send(first, 'POST', '/pets', undefined, { name: '0', categoryId: 0 });
  const target = `/pets/${(JSON.parse(made.text) as Pet).id}`;
  const telling = setInterval(() => progress(`${changes.madeOf.size} of ${rounds} changes`), 1_000);
  // All clients read the first version before any of them changes it: one change is done, all others get 412.
  const reads = await Promise.all(wires.map((wire) => changes.send(wire, 'GET', target)));
  await Promise.all(
    wires.map((wire, client) =>
      failures.guard(`client ${client}`, () =>
        changes.make(wire, client, target, reads[client] as WireResponse),
      ),
    ),
  );
  clearInterval(telling);
  failures.end();
  const last = JSON.parse((await changes.send(first, 'GET', target)).text) as Pet;
  let length = 0;
  let name: string | undefined = '0';
  for (let next = changes.madeOf.get(name); next !== undefined; next = changes.madeOf.get(name)) {
    name = next;
    length++;
  }
  same('the end of the chain of names', name, last.name);
  same('the length of the chain', length, changes.madeOf.size);
  same('the count in the last name', countOf(last), changes.madeOf.size);
  return { 'changes, each of the version it named': length, 'answered 412': changes.failed };
}

export const lostUpdateTests: readonly StressTest[] = shopKinds.map(({ name, title, open }) => ({
  name: `lost-updates${name}`,
  promise:
    `${clients} clients change one animal with If-Match: every change that was answered with 200 built on the version ` +
    `it named, and none is lost, ${title} (rounds: changes)`,
  rounds: 10_000,
  async run(options) {
    await using place = await open();
    if (place === undefined) throw new Error('This machine has no PostgreSQL and Redis for this test.');
    return await noLostUpdate(place, options);
  },
}));
