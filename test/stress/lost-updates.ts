/** Clients that change one animal, each only if it is as they read it: no change is lost. */
import { Failures, same } from './failures.ts';
import { bytesOf } from './generate/http.ts';
import { type ShopPlace, shopKinds } from './shop-places.ts';
import type { Figures, StressOptions, StressTest } from './stress-test.ts';
import { Wire, type WireResponse } from './wire.ts';

const clients = 64;

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

  /** Reads, and changes what it read, over and over: the next name counts on from the one it read. */
  async make(wire: Wire, client: number, petId: number): Promise<void> {
    const target = `/pets/${petId}`;
    for (let number = 0; !this.isDone; number++) {
      const read = await this.send(wire, 'GET', target);
      same('the status of a read', read.status, 200);
      const before = JSON.parse(read.text) as Pet;
      const count = countOf(before);
      const after = { name: `${count + 1} by ${client}, ${number}`, categoryId: count + 1 };
      const etag = read.headers.get('etag') ?? '';
      const changed = await this.send(wire, 'PATCH', target, etag, after);
      if (changed.status === 412) this.failed++;
      else this.#keep(before, after, changed);
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
  using wires = new DisposableStack();
  const wireOf = (client: number) => wires.use(new Wire(places[client % places.length] ?? ''));
  const first = wireOf(0);
  const made = await changes.send(first, 'POST', '/pets', undefined, { name: '0', categoryId: 0 });
  const { id } = JSON.parse(made.text) as Pet;
  const telling = setInterval(() => progress(`${changes.madeOf.size} of ${rounds} changes`), 1_000);
  await Promise.all(
    Array.from({ length: clients }, (_, client) =>
      failures.guard(`client ${client}`, () => changes.make(wireOf(client), client, id)),
    ),
  );
  clearInterval(telling);
  failures.end();
  const last = JSON.parse((await changes.send(first, 'GET', `/pets/${id}`)).text) as Pet;
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
