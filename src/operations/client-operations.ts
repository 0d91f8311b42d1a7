import { ApiError } from '../contract/api-error.ts';
import { isRead, type Operation, type Result, toResult } from '../contract/operation.ts';
import type { ClientInput, OperationId } from '../contract/operations.ts';
import type { RepeatableId } from '../contract/representations.ts';
import { type Awaitable, andThen } from '../domain/awaitable.ts';
import type { Clock } from '../domain/clock.ts';
import type { CheckEndpoint } from '../domain/endpoint.ts';
import type { Authenticated } from './admission/admission.ts';
import type { IdempotentInput, IdempotentRequest } from './changes/idempotency.ts';
import type { Preconditions } from './changes/preconditions.ts';
import type { EventFeed } from './events/feed.ts';
import type { WatchStore } from './events/key-watch.ts';
import type { EventStreams } from './events/streams.ts';
import { type ClientReaders, clientReaders, type clientUnits } from './resources/clients.ts';
import type { ReadStore, ResolvedNeeds } from './resources/rows.ts';
import type { SendTest } from './resources/webhooks.ts';
import type { Store } from './units.ts';
import { revealSecret, type WebhookSecrets } from './webhook-secrets.ts';

export interface OperationRequest {
  readonly input: ClientInput<OperationId>;
  readonly preconditions: Preconditions;
  readonly once: IdempotentRequest | undefined;
  readonly admission: Authenticated;
  /**
   * Checks the caller again, and returns it with its current scopes. Called once by every operation that is not read-only,
   * as late as possible. Throws `CallerChanged`.
   */
  readonly confirm: () => Awaitable<Authenticated>;
}

export type OperationResult = Result & { readonly isReplayed?: boolean };

type ClientOperation = Operation & { readonly operationId: OperationId };

/** Composed by `src/app/`. */
interface ClientDependencies {
  readonly store: ReadStore & Pick<Store, 'write' | 'events' | 'replicated'> & WatchStore;
  readonly events: EventFeed;
  readonly streams: EventStreams;
  readonly clock: Clock;
  readonly checkEndpoint: CheckEndpoint;
  readonly secrets: WebhookSecrets;
  readonly sendTest: SendTest;
}

export class ClientOperations {
  readonly #dependencies: ClientDependencies;
  readonly #readers: ClientReaders;

  constructor(dependencies: ClientDependencies) {
    this.#dependencies = dependencies;
    this.#readers = clientReaders(dependencies);
  }

  /**
   * Runs an operation. When the result resolves, the change is durable. Throws the operation's errors and
   * `service_unavailable`.
   */
  perform(operation: ClientOperation, request: OperationRequest): Awaitable<OperationResult> {
    const { store } = this.#dependencies;
    const { input, admission } = request;
    if (isRead(operation) || operation.isEffect) {
      const confirmed = operation.isEffect ? request.confirm() : admission;
      // The input was parsed according to the operation's definition, so it has the type that the reader expects.
      const read = this.#readers[operation.operationId as keyof ClientReaders] as Reader;
      return andThen(confirmed, (current) =>
        andThen(read(store.replicated ?? store, input as never, current), (outcome) =>
          toResult(operation, outcome),
        ),
      );
    }
    return operation.needs === undefined
      ? this.#write(operation, request)
      : this.#writeWithNeeds(operation, request);
  }

  async #writeWithNeeds(operation: ClientOperation, request: OperationRequest): Promise<OperationResult> {
    const { needs = [] } = operation;
    const { url } = (request.input.body ?? {}) as { readonly url?: string };
    const { accountId } = request.admission.caller;
    const { store, secrets, checkEndpoint } = this.#dependencies;
    const performed = await this.#write(operation, request, {
      // The unit of work reports an invalid URL, so that a retry gets the stored response even if the URL now resolves
      // to another address.
      endpoint: { mistake: url === undefined ? undefined : await checkEndpoint(url, accountId) },
      ...(needs.includes('events') && { events: await store.events.bounds() }),
      ...(needs.includes('secret') && { secret: secrets.seal(secrets.generate()) }),
    });
    return needs.includes('secret') ? revealSecret(performed, secrets) : performed;
  }

  async #write(
    operation: ClientOperation,
    { input: { params, body }, preconditions, once, confirm }: OperationRequest,
    needed?: Partial<Omit<ResolvedNeeds, 'caller'>>,
  ): Promise<OperationResult> {
    const { store, clock, events } = this.#dependencies;
    // Not earlier, because the key may have been revoked while the host of a webhook was being resolved.
    const confirming = confirm();
    const { caller } = confirming instanceof Promise ? await confirming : confirming;
    const unit = {
      ...{ params, body, preconditions, now: clock.now() },
      ...(needed && { ...needed, caller: { accountId: caller.accountId, scopes: [...caller.scopes] } }),
    };
    const { operationId, sends } = operation;
    try {
      if (once !== undefined) return await this.#writeOnce(operationId as RepeatableId, unit, once);
      return toResult(operation, await store.write(operationId as keyof typeof clientUnits, unit as never));
    } finally {
      events.tail.wake();
      if (sends) events.tail.nudge();
    }
  }

  async #writeOnce(
    operationId: RepeatableId,
    input: IdempotentInput['input'],
    once: IdempotentRequest,
  ): Promise<OperationResult> {
    const { store, clock } = this.#dependencies;
    const at = clock.storeTime();
    if (operationId !== 'createPet') return store.write('once', { operationId, input, once, at });
    // Adding an animal never throws an `ApiError`, so concurrent requests share one batch.
    const outcome = await store.write('createPetOnce', { input: input as never, once, at });
    if (typeof outcome === 'string') throw new ApiError(outcome);
    return outcome;
  }
}

type Reader = (store: ReadStore, input: never, admission: Authenticated) => Awaitable<unknown>;
