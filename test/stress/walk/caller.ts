import type { AdminServices } from '../../../src/app/app.ts';
import { scopes } from '../../../src/domain/scope.ts';
import { ample } from '../../support/process.ts';
import { same } from '../failures.ts';
import type { Chance } from '../generate/chance.ts';
import { Wire, type WireResponse } from '../wire.ts';
import type { Request } from './request.ts';
import { spelled } from './spelling.ts';

export interface CallerKeys {
  readonly key: string;
  /** A key of the same account that has no scopes. */
  readonly limitedKey: string;
}

/** Keys of a new account. */
export async function callerKeys({ accounts, keys }: AdminServices): Promise<CallerKeys> {
  const { id } = await accounts.create('walk', 'enterprise', ample);
  const { key } = await keys.create(id, 'all', undefined, scopes);
  const { key: limitedKey } = await keys.create(id, 'none', undefined, []);
  return { key, limitedKey };
}

/** A client with separate connections to each instance of a service. */
export class Caller implements Disposable {
  readonly #keys: CallerKeys;
  /** Two connections per instance, for requests that are sent twice concurrently. */
  readonly #connections: readonly (readonly [Wire, Wire])[];
  readonly #busy = new Set<Wire>();

  constructor(urls: readonly string[], keys: CallerKeys) {
    this.#keys = keys;
    this.#connections = urls.map((url) => [new Wire(url), new Wire(url)]);
  }

  /** Sends the request in one of the forms that HTTP allows, chosen at random. */
  async send(request: Request, chance: Chance): Promise<WireResponse> {
    const { key, limitedKey } = this.#keys;
    const { bytes, ownId } = spelled(request, request.isLimited ? limitedKey : key, chance);
    const [first, second] = chance.pick(this.#connections);
    const wire = this.#busy.has(first) ? second : first;
    this.#busy.add(wire);
    try {
      const answer = await wire.send(bytes, request.method === 'HEAD');
      if (ownId !== undefined) same('X-Request-Id', answer.headers.get('x-request-id'), ownId);
      return answer;
    } finally {
      this.#busy.delete(wire);
    }
  }

  [Symbol.dispose](): void {
    for (const wire of this.#connections.flat()) wire[Symbol.dispose]();
  }
}
