/** The walk's model of the store. It consists of plain maps and is derived only from the contract. */

import { dayMs } from '../../../src/domain/clock.ts';

const retentionMs = dayMs;

/** A kind of object in the model. */
export interface Kind<Thing> {
  readonly name: string;
  /** The representation of an object in responses. */
  readonly textOf: (thing: Thing) => string;
  /** The object whose removal also removes this object. */
  readonly parent?: { readonly kind: Kind<never>; readonly idOf: (thing: Thing) => bigint };
}

/** The response that the model expects. */
export interface Outcome {
  readonly status: number;
  /** The exact body. Undefined for an error, and if `matches` checks the body. */
  readonly text?: string;
  /** Checks a body that the model cannot predict exactly. Returns a description of the first error found. */
  readonly matches?: (text: string, hasNext: boolean) => string | undefined;
  readonly location?: string;
  /**
   * For a page: the query string of its links, and whether there is a next page. If `hasNext` is undefined, it is not
   * checked.
   */
  readonly page?: { readonly query: string; readonly hasNext: boolean | undefined };
  /** Checks the `Link` header of a response that is not a page. */
  readonly isLink?: (link: string) => boolean;
  readonly isReplayed?: true;
  /** For a page: labels of the filters that affect its contents. */
  readonly ways?: readonly string[];
  /** For an error: its code, the words its message must contain, and the names in its details. */
  readonly error?: {
    readonly code: string;
    readonly mentions?: readonly string[];
    readonly blames?: readonly string[];
    readonly headers?: Readonly<Record<string, string>>;
  };
}

export function refusal(status: number, code: string, mentions: readonly string[] = []): Outcome {
  return { status, error: { code, mentions } };
}

/** A 400 response whose details name one part of the request. */
export function blaming(code: string, part: string): Outcome {
  return { status: 400, error: { code, blames: [part] } };
}

/** The error response to a change whose preconditions do not hold. */
export const changed = refusal(412, 'precondition_failed');

/** Inputs to the model other than the request. */
export interface Turn {
  readonly world: World;
  /** Values chosen by the service: the new id, the time of the last change and the secret. */
  readonly chosen: { readonly id: bigint; readonly at: string; readonly secret: string };
  /**
   * True if the request's preconditions hold for this representation. Undefined means that the resource does not exist.
   */
  readonly meets: (text: string | undefined) => boolean;
}

/** A successful response stored under an `Idempotency-Key`. */
export interface Kept {
  /** Unix ms. */
  readonly at: number;
  readonly request: string;
  readonly outcome: Outcome;
  /** Whether it replaced an expired response. */
  readonly isAfterExpiry: boolean;
}

export interface RecordedEvent {
  readonly id: bigint;
  readonly type: string;
  /** The representation of the resource. */
  readonly text: string;
}

/** The model's state: a part of the store that other clients do not change, or the whole store. */
export class World {
  readonly #things = new Map<Kind<never>, Map<bigint, never>>();
  readonly kept: Map<string, Kept>;
  /** Keys whose stored response has expired. */
  readonly expired = new Set<string>();
  /** Time of the current request (Unix ms). */
  now = 0;
  readonly events: RecordedEvent[] = [];

  constructor(from?: World) {
    if (from !== undefined) this.absorb(from);
    this.kept = new Map(from?.kept);
  }

  /** The objects of a kind, keyed by id. */
  all<Thing>(kind: Kind<Thing>): Map<bigint, Thing> {
    const things = this.#things.get(kind) ?? new Map<bigint, never>();
    this.#things.set(kind, things);
    return things as Map<bigint, unknown> as Map<bigint, Thing>;
  }

  passTo(now: number): void {
    this.now = now;
    for (const [key, { at }] of this.kept) {
      if (at >= now - retentionMs) continue;
      this.kept.delete(key);
      this.expired.add(key);
    }
  }

  record(type: string, text: string): void {
    this.events.push({ id: BigInt(this.events.length + 1), type, text });
  }

  /** Removes an object and its children. */
  remove(kind: Kind<never>, id: bigint): void {
    this.#things.get(kind)?.delete(id);
    for (const [{ parent }, things] of this.#things) {
      if (parent?.kind !== kind) continue;
      for (const [childId, child] of things) if (parent.idOf(child) === id) things.delete(childId);
    }
  }

  /** Adds another model's objects, but not its stored responses and events. */
  absorb(other: World): void {
    for (const [kind, things] of other.#things) {
      const own = this.all(kind);
      for (const [id, thing] of things) own.set(id, thing);
    }
  }

  /** Text that is identical for models with the same contents. */
  fingerprint(): string {
    const parts = [...this.#things].map(
      ([{ name, textOf }, things]) => `${name}: ${[...things.values()].map(textOf).sort().join()}`,
    );
    return [...parts.sort(), [...this.kept.keys()].sort().join()].join('|');
  }
}

/** Sorts objects by ascending id. */
export function ascending<Thing extends { readonly id: bigint }>(things: Iterable<Thing>): Thing[] {
  return [...things].sort((one, other) => (one.id < other.id ? -1 : 1));
}
