/** A copy of the store that is built only from events. */
import type { Read } from './audit.ts';

const pathOf: Readonly<Record<string, string>> = { pet: '/pets', order: '/orders', category: '/categories' };

const eventForm =
  /^\{"id":(?<id>\d+),"type":"(?<group>\w+)\.(?<change>\w+)","timestamp":"[^"]+","data":(?<data>\{"id":(?<about>-?\d+),.*\})\}$/s;

export class Mirror {
  readonly #copies = new Map(Object.values(pathOf).map((path) => [path, new Map<bigint, string>()]));
  #last = 0n;

  /** Applies all new events. Throws if an event is out of order or changes nothing. */
  async follow(read: Read): Promise<void> {
    for (;;) {
      const { status, text } = await read(`/events?after=${this.#last}&limit=100`);
      if (status !== 200)
        throw new Error(`The request for events after ${this.#last} returned ${status}: ${text}`);
      if (text === '[]') return;
      for (const event of text.slice(1, -1).split(/(?<=\}),(?=\{"id":\d+,"type":)/)) this.#apply(event);
    }
  }

  /** The copied resources, grouped by the path of their list and sorted by id. */
  *lists(): Iterable<readonly [path: string, texts: readonly string[]]> {
    for (const [path, copy] of this.#copies) {
      const ids = [...copy.keys()].sort((one, other) => (one < other ? -1 : 1));
      yield [path, ids.map((id) => copy.get(id) ?? '')];
    }
  }

  #apply(event: string): void {
    const { id, group = '', change, data = '', about = '' } = eventForm.exec(event)?.groups ?? {};
    const copy = this.#copies.get(pathOf[group] ?? '');
    if (copy === undefined || BigInt(id ?? 0) !== this.#last + 1n)
      throw new Error(`The event after ${this.#last} is ${event}.`);
    this.#last++;
    const before = copy.get(BigInt(about));
    const isFirst = change === 'created' || change === 'placed';
    const isRight = change === 'deleted' ? before === data : isFirst ? before === undefined : before !== data;
    if (!isRight) throw new Error(`${event} follows ${before}.`);
    if (change === 'deleted') copy.delete(BigInt(about));
    else copy.set(BigInt(about), data);
  }
}
