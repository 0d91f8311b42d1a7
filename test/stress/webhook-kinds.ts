/** Kinds of webhook receivers, and how each kind responds. */
import { type EventSelector, typeGroups } from '../../src/domain/event-type.ts';
import type { Chance } from './generate/chance.ts';

/** How a receiver responds to a request. */
export type Reply =
  /** A response, possibly late. */
  | { readonly status: number; readonly headers?: readonly string[]; readonly afterMs?: number }
  /** Sends bytes that are not a response, then closes the connection. */
  | { readonly bytes: string }
  /** Keeps the connection open without a response. */
  | 'hang';

export interface ReceiverKind {
  readonly name: string;
  readonly types: readonly EventSelector[];
  /**
   * True if the receiver must get every event. If false, the receiver's responses eventually cause its webhook to be
   * disabled.
   */
  readonly isDurable: boolean;
  /** `trap` is the target URL of redirects. The service must never request it. */
  reply(chance: Chance, trap: string): Reply;
}

export const accepted: Reply = { status: 204 };
const text = (status: number, ...headers: string[]): Reply => ({ status, headers });

/** Incomplete responses. An empty text closes the connection without a response. */
const cutOff = ['', 'HTTP/1.1 2', 'HTTP/1.1 204 No Content\r\nContent-Le'];
const garbage = [
  'HTTP/9.9 200 OK\r\n\r\n',
  'SSH-2.0-OpenSSH_9.2\r\n',
  '\u0000\u0016\u0003\u0001\u00ff\u00ff200 OK\r\n\r\n',
  '<html>200 OK</html>\r\n\r\n',
  'HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n',
  `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(40_000)}\r\nContent-Length: 0\r\n\r\n`,
];

/** Accepts most requests. With probability `part`, a request gets the reply from `otherwise`. */
function mostly(part: number, otherwise: (chance: Chance, trap: string) => Reply): ReceiverKind['reply'] {
  return (chance, trap) => (chance.often(part) ? otherwise(chance, trap) : accepted);
}

const durable = (
  name: string,
  types: readonly EventSelector[],
  reply: ReceiverKind['reply'],
): ReceiverKind => ({ name, types, isDurable: true, reply });

export const receiverKinds: readonly ReceiverKind[] = [
  durable('healthy', typeGroups, (chance) => text(chance.pick([200, 201, 202, 204, 299]))),
  durable(
    'failing',
    ['pet.*', 'webhook.disabled'],
    mostly(0.2, (chance) => text(chance.pick([400, 401, 404, 500, 500, 502]))),
  ),
  durable(
    'limiting',
    ['pet.created', 'order.*'],
    mostly(0.15, (chance) => text(chance.pick([429, 503]), `Retry-After: ${chance.pick([2, 20, 3_600])}`)),
  ),
  durable(
    'redirecting',
    ['category.*', 'order.placed'],
    mostly(0.2, (chance, trap) => text(chance.pick([301, 302, 303, 307, 308]), `Location: ${trap}`)),
  ),
  durable(
    'hanging',
    ['category.*'],
    mostly(0.05, () => 'hang'),
  ),
  durable('slow', ['category.*'], (chance) => ({ status: 200, afterMs: chance.int(20, 600) })),
  durable(
    'closing early',
    ['pet.created'],
    mostly(0.2, (chance) => ({ bytes: chance.pick(cutOff) })),
  ),
  durable(
    'garbage',
    ['pet.updated'],
    mostly(0.2, (chance) => ({ bytes: chance.pick(garbage) })),
  ),
  {
    name: 'always failing',
    types: ['order.placed'],
    isDurable: false,
    reply: (chance) => text(chance.pick([500, 503])),
  },
  { name: 'gone', types: ['pet.created'], isDurable: false, reply: mostly(0.02, () => text(410)) },
];
