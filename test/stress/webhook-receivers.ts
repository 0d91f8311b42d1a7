/**
 * Servers that receive webhooks, verify each request with the Standard Webhooks library, and record their responses.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import type { Failures } from './failures.ts';
import type { Chance } from './generate/chance.ts';
import { accepted, type ReceiverKind, type Reply } from './webhook-kinds.ts';

/** Time until a hanging receiver closes the connection. Longer than the service's timeout. */
const hangMs = 20_000;

/** A received request that delivers an event. */
export interface Seen {
  /** Time of arrival, from `performance.now()`. */
  readonly at: number;
  /** The signed `webhook-timestamp`, in Unix seconds. */
  readonly sentAt: number;
  /** Status of the response. Undefined if no response was sent. */
  status: number | undefined;
  /** Delay from the Retry-After header of the response. 0 if the header is absent. */
  retryAfterMs: number;
}

export interface World {
  readonly failures: Failures;
  /** Current and previous offset of the services' clocks from this process's clock. */
  aheadMs(): readonly number[];
}

export const isAcceptance = (status: number | undefined) => status !== undefined && status < 300;

/**
 * The first received body of each event, keyed by event id. All later requests for the event must have the same body.
 */
export class Bodies extends Map<number, Buffer> {}

export class Receiver implements AsyncDisposable {
  readonly kind: ReceiverKind;
  readonly seen = new Map<number, Seen[]>();
  /** Ids of events that the receiver accepted. */
  readonly delivered = new Set<number>();
  requests = 0;
  lastAt = 0;
  /** If true, the receiver responds with 204, unless it is the receiver that always fails. */
  isCalm = false;
  /** The receiver must get all events after this id. */
  from = 0;
  webhookId = 0n;
  #secret = '';
  readonly #world: World;
  readonly #bodies: Bodies;
  readonly #chance: Chance;
  readonly #trap: string;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(kind: ReceiverKind, parts: { world: World; bodies: Bodies; chance: Chance; trap: string }) {
    this.kind = kind;
    this.#world = parts.world;
    this.#bodies = parts.bodies;
    this.#chance = parts.chance;
    this.#trap = parts.trap;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${this.kind.name.replace(' ', '-')}`;
  }

  subscribed(webhookId: bigint, secret: string): void {
    this.webhookId = webhookId;
    this.#secret = secret;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const headEnd = bytes.indexOf('\r\n\r\n');
      if (headEnd === -1) return;
      const head = bytes.toString('latin1', 0, headEnd);
      const headers = headersOf(head);
      const body = bytes.subarray(headEnd + 4);
      if (body.length < Number(headers['content-length'])) return;
      bytes = Buffer.alloc(0);
      this.#receive(socket, head, headers, body);
    });
  }

  #receive(socket: Socket, head: string, headers: Record<string, string>, body: Buffer): void {
    const sentAt = Number(headers['webhook-timestamp']);
    const seen: Seen = { at: performance.now(), sentAt, status: undefined, retryAfterMs: 0 };
    const id = Number(/^\{"id":(\d+),/.exec(body.toString('latin1'))?.[1]);
    this.requests++;
    this.lastAt = seen.at;
    this.seen.set(id, [...(this.seen.get(id) ?? []), seen]);
    const wrong = this.#mistakeIn(head, headers, body, id);
    if (wrong !== undefined) this.#world.failures.add(`${this.kind.name}, event ${id}`, wrong);
    this.#respond(socket, this.#reply(), id, seen);
  }

  #reply(): Reply {
    const reply = this.kind.reply(this.#chance, this.#trap);
    return this.isCalm && this.kind.name !== 'always failing' ? accepted : reply;
  }

  #mistakeIn(head: string, headers: Record<string, string>, body: Buffer, id: number): string | undefined {
    if (!/^POST \S+ HTTP\/1\.1\r\n/.test(head)) return `The request head is wrong: ${head}`;
    if (headers['webhook-id'] !== `evt_${id}`) return `The id is ${headers['webhook-id']}.`;
    if (body.length !== Number(headers['content-length'])) return 'Additional bytes followed the body.';
    const before = this.#bodies.get(id) ?? body;
    this.#bodies.set(id, before);
    if (!before.equals(body)) return `The body is ${body}, not ${before}.`;
    const verified = this.#world.aheadMs().some((ms) => isVerified(this.#secret, headers, body, ms));
    return verified ? undefined : `The signature ${headers['webhook-signature']} is wrong.`;
  }

  #respond(socket: Socket, reply: Reply, id: number, seen: Seen): void {
    if (reply === 'hang') setTimeout(() => socket.destroy(), hangMs).unref();
    else if ('bytes' in reply) socket.end(reply.bytes);
    else if (reply.afterMs === undefined) this.#answer(socket, reply, id, seen);
    else setTimeout(() => this.#answer(socket, reply, id, seen), reply.afterMs).unref();
  }

  #answer(
    socket: Socket,
    { status, headers = [] }: Exclude<Reply, 'hang' | { bytes: string }>,
    id: number,
    seen: Seen,
  ): void {
    if (socket.destroyed) return;
    socket.write([`HTTP/1.1 ${status} Status`, ...headers, 'Content-Length: 0', '', ''].join('\r\n'));
    seen.status = status;
    if (isAcceptance(status)) this.delivered.add(id);
    const [, seconds = 0] = /^Retry-After: (\d+)/.exec(headers[0] ?? '') ?? [];
    seen.retryAfterMs = Number(seconds) * 1_000;
  }
}

/** Header values, keyed by lower-case name. */
function headersOf(head: string): Record<string, string> {
  const lines = head.split('\r\n').slice(1);
  const pairs = lines.map((line) => [/^[^:]*/.exec(line)?.[0].toLowerCase(), line.replace(/^[^:]*: */, '')]);
  return Object.fromEntries(pairs);
}

/** Temporarily replaces Date.now, because the Standard Webhooks library uses it and the services' clocks are ahead. */
function isVerified(secret: string, headers: Record<string, string>, body: Buffer, aheadMs: number): boolean {
  const { now } = Date;
  Date.now = () => now() + aheadMs;
  try {
    new StandardWebhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  } finally {
    Date.now = now;
  }
}
