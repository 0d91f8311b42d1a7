import { type InputOf, isRead, type Operation, type OperationId } from '../contract/operations.ts';
import { type Result, resultOf } from '../contract/result.ts';
import { type Awaitable, andThen } from '../domain/awaitable.ts';
import type { Clock } from '../domain/clock.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Authenticated } from './admission.ts';
import { categoryReaders } from './categories.ts';
import type { Once, OnceInput } from './once.ts';
import { orderReaders } from './orders.ts';
import { petReaders } from './pets.ts';
import type { Preconditions } from './preconditions.ts';
import { rateLimitReaders } from './rate-limits.ts';
import type { ReadersOf, ReadId, ReadStore } from './readers.ts';
import type { Store, WriteId } from './units.ts';

const readers: ReadersOf<ReadId> = {
  ...petReaders,
  ...categoryReaders,
  ...orderReaders,
  ...rateLimitReaders,
};

/** A request of an operation, checked. */
export interface OperationRequest {
  readonly input: InputOf<OperationId>;
  readonly preconditions: Preconditions;
  /** Undefined: it is done as often as it is asked for. */
  readonly once: Once | undefined;
  readonly admission: Authenticated;
}

/** What became of it. */
export type Performed = Result & { readonly isReplayed?: boolean };

/** The operations of the contract, by their row. */
export class ClientOperations {
  readonly #store: ReadStore & Pick<Store, 'write'>;
  readonly #clock: Clock;

  constructor(store: ReadStore & Pick<Store, 'write'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** What it changes is durable when this resolves. Refuses what the operation does, and `service_unavailable`. */
  perform(
    operation: Operation & { readonly operationId: OperationId },
    { input, preconditions, once, admission }: OperationRequest,
  ): Awaitable<Performed> {
    if (isRead(operation)) {
      // The input was made by the row, so it is the one its reader takes.
      const read = readers[operation.operationId as ReadId] as Reader;
      return andThen(read(this.#store, input as never, admission), (outcome) => resultOf(operation, outcome));
    }
    const { params, body } = input;
    const unit = { params, body, preconditions, now: this.#clock.now() };
    const { operationId } = operation;
    if (once !== undefined) return this.#performOnce(operationId, unit, once);
    const written = this.#store.write(operationId as WriteId, unit as never);
    return written.then((outcome) => resultOf(operation, outcome));
  }

  async #performOnce(operationId: OperationId, input: OnceInput['input'], once: Once): Promise<Performed> {
    if (operationId !== 'createPet') return this.#store.write('once', { operationId, input, once });
    // Adding animals refuses nobody, so all who do it at the same time are one batch.
    const outcome = await this.#store.write('createPetOnce', { input: input as never, once });
    if (typeof outcome === 'string') throw new Refusal(outcome);
    return outcome;
  }
}

type Reader = (store: ReadStore, input: never, admission: Authenticated) => Awaitable<unknown>;
