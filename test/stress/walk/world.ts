/** The store as the walk's model has it: plain maps, written from what the contract says and from nothing else. */

/** A kind of things in the model. */
export interface Kind<Thing> {
  readonly name: string;
  /** A thing as the service shows it. */
  readonly textOf: (thing: Thing) => string;
  /** The things that are removed with another one. */
  readonly parent?: { readonly kind: Kind<never>; readonly idOf: (thing: Thing) => bigint };
}

/** What a model expects of an answer. */
export interface Outcome {
  readonly status: number;
  /** The body to the byte; undefined where `matches` judges it, or it is an error's. */
  readonly text?: string;
  /** What is wrong with a body that the model does not know to the byte. */
  readonly matches?: (text: string, hasNext: boolean) => string | undefined;
  readonly location?: string;
  /** Of a page: the query its links repeat, and whether there is a next one; undefined: either. */
  readonly page?: { readonly query: string; readonly hasNext: boolean | undefined };
  /** Whether the `Link` header is right, where the answer is no page of a list. */
  readonly isLink?: (link: string) => boolean;
  readonly isReplayed?: true;
  /** Of a page: how a filter that is ignored would show in it. */
  readonly ways?: readonly string[];
  /** Of an error: its code, words its message must have, and what its details blame. */
  readonly error?: {
    readonly code: string;
    readonly mentions?: readonly string[];
    readonly blames?: readonly string[];
    /** Headers of this error. */
    readonly headers?: Readonly<Record<string, string>>;
  };
}

export function refusal(status: number, code: string, mentions: readonly string[] = []): Outcome {
  return { status, error: { code, mentions } };
}

/** A refusal with 400 that blames one part of the request. */
export function blaming(code: string, part: string): Outcome {
  return { status: 400, error: { code, blames: [part] } };
}

/** The refusal of a change whose preconditions do not hold. */
export const changed = refusal(412, 'precondition_failed');

/** What a request is judged with, besides its own words. */
export interface Turn {
  readonly world: World;
  /** What the service chose: the id of what was made, the time of its last change, and its secret. */
  readonly chosen: { readonly id: bigint; readonly at: string; readonly secret: string };
  /** Whether the request's preconditions hold for a representation; undefined: there is none. */
  readonly meets: (text: string | undefined) => boolean;
}

/** What a success answered under an `Idempotency-Key`. */
export interface Kept {
  readonly request: string;
  readonly outcome: Outcome;
}

export interface RecordedEvent {
  readonly id: bigint;
  readonly type: string;
  /** The resource as the service shows it. */
  readonly text: string;
}

/** A part of the store that others do not change, or all of it. */
export class World {
  readonly #things = new Map<Kind<never>, Map<bigint, never>>();
  readonly kept: Map<string, Kept>;
  readonly events: RecordedEvent[] = [];

  constructor(from?: World) {
    if (from !== undefined) this.absorb(from);
    this.kept = new Map(from?.kept);
  }

  /** The things of a kind by their id. */
  all<Thing>(kind: Kind<Thing>): Map<bigint, Thing> {
    const things = this.#things.get(kind) ?? new Map<bigint, never>();
    this.#things.set(kind, things);
    return things as Map<bigint, unknown> as Map<bigint, Thing>;
  }

  record(type: string, text: string): void {
    this.events.push({ id: BigInt(this.events.length + 1), type, text });
  }

  /** Removes a thing with its children. */
  remove(kind: Kind<never>, id: bigint): void {
    this.#things.get(kind)?.delete(id);
    for (const [{ parent }, things] of this.#things) {
      if (parent?.kind !== kind) continue;
      for (const [childId, child] of things) if (parent.idOf(child) === id) things.delete(childId);
    }
  }

  /** Takes over all that another has, but its kept answers and its events. */
  absorb(other: World): void {
    for (const [kind, things] of other.#things) {
      const own = this.all(kind);
      for (const [id, thing] of things) own.set(id, thing);
    }
  }

  /** The same for worlds that are the same. */
  fingerprint(): string {
    const parts = [...this.#things].map(
      ([{ name, textOf }, things]) => `${name}: ${[...things.values()].map(textOf).sort().join()}`,
    );
    return [...parts.sort(), [...this.kept.keys()].sort().join()].join('|');
  }
}

/** Things by ascending id. */
export function ascending<Thing extends { readonly id: bigint }>(things: Iterable<Thing>): Thing[] {
  return [...things].sort((one, other) => (one.id < other.id ? -1 : 1));
}
