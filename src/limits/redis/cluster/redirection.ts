import { StorageUnavailable } from '../../../outages/errors.ts';
import { formatAddress } from './slot-map.ts';

/**
 * A node did not run a command, because another node owns the slot (`moved`) or has the keys of the command (`ask`), or
 * because only some of the keys have been moved so far (`again`).
 */
export class Redirection extends StorageUnavailable {
  readonly kind: 'moved' | 'ask' | 'again';
  readonly reason: string;
  /** The other node; empty for `again`. */
  readonly address: string;

  constructor(message: string, kind: Redirection['kind'], address: string) {
    super(message);
    this.reason = message;
    this.kind = kind;
    this.address = address;
  }
}

/** Parses a redirection from an error returned by the node at this URL; undefined for other errors. */
export function parseRedirection(error: unknown, url: string): Redirection | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  if (message.startsWith('TRYAGAIN')) return new Redirection(message, 'again', '');
  const [, word, host = '', port = ''] = /^(MOVED|ASK) \d+ (.*):(\d+)$/.exec(message) ?? [];
  if (word === undefined) return undefined;
  return new Redirection(message, word === 'ASK' ? 'ask' : 'moved', formatAddress(host, port, url));
}
