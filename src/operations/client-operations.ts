import { type Result, resultOf } from '../contract/operation.ts';
import {
  type InputOf,
  isRead,
  type Operation,
  type OperationId,
  type operations,
} from '../contract/operations.ts';
import { Refusal } from '../contract/refusal.ts';
import { type Awaitable, andThen } from '../domain/awaitable.ts';
import type { Clock } from '../domain/clock.ts';
import type { Authenticated } from './admission/admission.ts';
import type { Once, OnceInput } from './changes/once.ts';
import type { Preconditions } from './changes/preconditions.ts';
import type { EventFeed } from './events/feed.ts';
import type { EventStreams } from './events/streams.ts';
import { eventReaders } from './resources/events.ts';
import { rateLimitReaders } from './resources/rate-limits.ts';
import type { ReadersOf, ReadStore } from './resources/rows.ts';
import { sharedReaders, type sharedUnits } from './resources/shared.ts';
import type { Store } from './units.ts';

type Readers = ReadersOf<typeof operations, [Authenticated]>;

export interface OperationRequest {
  readonly input: InputOf<OperationId>;
  readonly preconditions: Preconditions;
  readonly once: Once | undefined;
  readonly admission: Authenticated;
}

export type Performed = Result & { readonly isReplayed?: boolean };

export class ClientOperations {
  readonly #store: ReadStore & Pick<Store, 'write'>;
  readonly #clock: Clock;
  readonly #events: EventFeed;
  readonly #readers: Readers;

  constructor(
    store: ReadStore & Pick<Store, 'write'>,
    clock: Clock,
    events: EventFeed,
    streams: EventStreams,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#events = events;
    this.#readers = { ...sharedReaders, ...eventReaders(events, streams), ...rateLimitReaders };
  }

  /** What it changes is durable when this resolves. Refuses what the operation does, and `service_unavailable`. */
  perform(
    operation: Operation & { readonly operationId: OperationId },
    { input, preconditions, once, admission }: OperationRequest,
  ): Awaitable<Performed> {
    if (isRead(operation)) {
      // The input was made by the row, so it is the one its reader takes.
      const read = this.#readers[operation.operationId as keyof Readers] as Reader;
      return andThen(read(this.#store, input as never, admission), (outcome) => resultOf(operation, outcome));
    }
    const { params, body } = input;
    const unit = { params, body, preconditions, now: this.#clock.now() };
    const { operationId } = operation;
    const performed =
      once === undefined
        ? this.#store
            .write(operationId as keyof typeof sharedUnits, unit as never)
            .then((outcome) => resultOf(operation, outcome))
        : this.#performOnce(operationId, unit, once);
    return performed.finally(() => this.#events.tail.wake());
  }

  async #performOnce(operationId: OperationId, input: OnceInput['input'], once: Once): Promise<Performed> {
    if (operationId !== 'createPet') return this.#store.write('once', { operationId, input, once });
    // Adding animals never refuses, so concurrent requests are one batch.
    const outcome = await this.#store.write('createPetOnce', { input: input as never, once });
    if (typeof outcome === 'string') throw new Refusal(outcome);
    return outcome;
  }
}

type Reader = (store: ReadStore, input: never, admission: Authenticated) => Awaitable<unknown>;
