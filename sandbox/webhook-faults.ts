/** Webhook delivery faults that receivers must handle. */
import type { Storage } from '../src/storage/storage.ts';
import type { Message, Send } from '../src/webhooks/attempt.ts';
import type { SandboxClock } from './clock.ts';
import { delayResponse } from './connection.ts';
import { type Fault, isWebhookFault, maxHoldMs } from './fault.ts';
import type { Faults } from './faults.ts';

/** Age of an outdated message. Receivers accept messages up to 5 minutes old. */
const oldMs = 10 * 60_000;
/** Secret for invalid signatures. */
const foreignSecret = `whsec_${Buffer.alloc(32).toString('base64')}`;

type Sent = ReturnType<Send>;

type Webhooks = Pick<Storage['webhooks'], 'find'>;

interface WebhookFaultsOptions {
  readonly faults: Faults;
  /** Undefined until the store is open. */
  readonly webhooks: () => Webhooks | undefined;
  readonly clock: SandboxClock;
  readonly stopSignal: AbortSignal;
}

interface Attempt {
  readonly send: Send;
  readonly message: Message;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export class WebhookFaults {
  readonly #faults: Faults;
  readonly #clock: SandboxClock;
  readonly #webhooks: () => Webhooks | undefined;
  readonly #stopSignal: AbortSignal;
  readonly #inFlight = new Map<string, Sent>();
  /** Delayed messages by webhook id. Each delay is aborted when the webhook's next message has been sent. */
  readonly #delayed = new Map<bigint, AbortController>();
  #resetting = new AbortController();

  /** `stopSignal` is aborted when the sandbox ends, to stop delaying messages. */
  constructor({ faults, webhooks, clock, stopSignal }: WebhookFaultsOptions) {
    this.#faults = faults;
    this.#webhooks = webhooks;
    this.#clock = clock;
    this.#stopSignal = stopSignal;
  }

  /**
   * If an attempt for the same delivery is in flight, waits for that attempt instead of starting another. This can
   * happen because advancing the clock may expire the lease of the attempt in flight.
   */
  readonly around = (send: Send): Send => {
    return (message, nowMs, ended) => {
      const id = `${message.webhookId} ${message.eventId}`;
      const signal = AbortSignal.any([this.#resetting.signal, ...(ended ? [ended] : [])]);
      const attempt = { send, ...this.#atMachineTime(message, nowMs), signal };
      const sent = this.#inFlight.get(id) ?? this.#attempt(attempt).finally(() => this.#inFlight.delete(id));
      this.#inFlight.set(id, sent);
      return sent;
    };
  };

  /** Aborts attempts in flight. */
  reset(): void {
    this.#resetting.abort();
    this.#resetting = new AbortController();
    this.#delayed.clear();
  }

  /** Whether the webhook of a leased message still exists. After a reset, a different webhook may have the same id. */
  async #isCurrent({ webhookId, secret }: Message): Promise<boolean> {
    const found = await this.#webhooks()?.find(webhookId);
    return found?.secret === secret || found?.formerSecret === secret;
  }

  /** Uses the system time, because receivers compare the timestamp with their own clock, not the sandbox's. */
  #atMachineTime(message: Message, nowMs: number): Pick<Attempt, 'message' | 'nowMs'> {
    const advancedMs = this.#clock.advancedSeconds * 1_000;
    const { formerSecretUntil: until } = message;
    const formerSecretUntil = until === null ? null : until - advancedMs;
    return { message: { ...message, formerSecretUntil }, nowMs: nowMs - advancedMs };
  }

  async #attempt(attempt: Attempt): Sent {
    const { webhookId, accountId, eventId } = attempt.message;
    // Test messages are sent immediately, so their webhook still exists.
    if (typeof eventId === 'bigint' && !(await this.#isCurrent(attempt.message)))
      return { error: 'aborted', message: '', milliseconds: 0 };
    const earlier = this.#delayed.get(webhookId);
    this.#delayed.delete(webhookId);
    const found = this.#faults
      .of(accountId)
      .filter(({ fault }) => isWebhookFault(fault) && !(earlier && fault.webhook === 'out-of-order'))
      .find((requestedFault) => requestedFault.happens());
    try {
      return await this.#misbehave(attempt, found?.fault);
    } finally {
      earlier?.abort();
    }
  }

  async #misbehave({ send, message, nowMs, signal }: Attempt, fault: Fault | undefined): Sent {
    if (fault?.webhookDelayMs !== undefined)
      await delayResponse(fault.webhookDelayMs, [signal, this.#stopSignal]);
    if (fault?.webhook === 'out-of-order') {
      const overtaken = new AbortController();
      this.#delayed.set(message.webhookId, overtaken);
      await delayResponse(maxHoldMs, [overtaken.signal, signal, this.#stopSignal]);
      if (this.#delayed.get(message.webhookId) === overtaken) this.#delayed.delete(message.webhookId);
    }
    if (fault?.webhook === 'duplicate') await send(message, nowMs, signal);
    if (fault?.webhook === 'old-timestamp') return send(message, nowMs - oldMs, signal);
    const isForeign = fault?.webhook === 'wrong-signature';
    const sent = isForeign ? { ...message, secret: foreignSecret, formerSecret: null } : message;
    return send(sent, nowMs, signal);
  }
}
