/** Operators who change everything there is over the admin API, until the service is gone. */
import { adminBasePath } from '../../src/contract/admin/operations.ts';

/** A change as the audit log is to have it. */
export interface Change {
  readonly operation: string;
  /** As `account:7`. */
  readonly object: string;
}

/** What an admin API answers a change with. */
interface Made {
  readonly id: number;
}

type Send = <Answer = Made>(
  operation: string,
  request: string,
  object: string,
  body?: object,
) => Promise<Answer>;

/** The service no longer answers. */
class Gone extends Error {}

/** Several operators at work under one token. */
export class Operators {
  readonly acknowledged: Change[] = [];
  /** Number of requests by operation. */
  readonly sent = new Map<string, number>();
  readonly #url: string;
  readonly #token: string;
  /** Keys whose bans are to be lifted. */
  readonly #banned: number[];

  constructor(url: string, token: string, banned: readonly number[]) {
    this.#url = url;
    this.#token = token;
    this.#banned = [...banned];
  }

  /** Resolves when the service no longer answers. Rejects when it refuses a change. */
  async run(count: number, prefix: string, firstCategory: number): Promise<void> {
    const operators = Array.from({ length: count }, async (_, operator) => {
      for (let turn = 0; ; turn++) {
        await this.#turn(`${prefix}-${operator}-${turn}`, firstCategory + operator);
        const keyId = this.#banned.pop();
        if (keyId !== undefined) await this.#send<void>('liftBan', `DELETE /bans/${keyId}`, `key:${keyId}`);
      }
    });
    const ends = await Promise.allSettled(operators);
    const failed = ends.find((end) => end.status === 'rejected' && !(end.reason instanceof Gone));
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** One change of each kind to new objects. Each makes one entry; a lifted ban makes two. */
  async #turn(name: string, categoryId: number): Promise<void> {
    const { id: account } = await this.#send('createAccount', 'POST /accounts', 'account', {
      name,
      plan: 'free',
    });
    const ofAccount = `account:${account}`;
    await this.#send('updateAccount', `PATCH /accounts/${account}`, ofAccount, { name: `${name} renamed` });
    const { id: key } = await this.#send('createKey', `POST /accounts/${account}/keys`, 'key', { name });
    await this.#send('setKeyScopes', `PATCH /keys/${key}`, `key:${key}`, { scopes: ['orders:read'] });
    await this.#send('rotateKey', `POST /keys/${key}/rotate`, `key:${key}`);
    await this.#send('revokeKey', `POST /keys/${key}/revoke`, `key:${key}`);
    await this.#send('closeAccount', `POST /accounts/${account}/close`, ofAccount);
    await this.#send('reopenAccount', `POST /accounts/${account}/reopen`, ofAccount);
    const category = `/categories/${categoryId}`;
    await this.#send('putCategory', `PUT ${category}`, `category:${categoryId}`, { name });
    const { id: pet } = await this.#send('createPet', 'POST /pets', 'pet', { name, categoryId });
    await this.#send('updatePet', `PATCH /pets/${pet}`, `pet:${pet}`, { name: `${name} renamed` });
    const { id: order } = await this.#send('placeOrder', 'POST /orders', 'order', { petId: pet });
    await this.#send('approveOrder', `POST /orders/${order}/approve`, `order:${order}`);
    await this.#send('cancelOrder', `POST /orders/${order}/cancel`, `order:${order}`);
    await this.#send<void>('deletePet', `DELETE /pets/${pet}`, `pet:${pet}`);
    await this.#send<void>('deleteCategory', `DELETE ${category}`, `category:${categoryId}`);
  }

  /** Sends a change to an object, or to one of its kind that has no id yet. */
  readonly #send: Send = async <Answer>(operation: string, request: string, object: string, body = {}) => {
    const [method = '', path] = request.split(' ');
    this.sent.set(operation, (this.sent.get(operation) ?? 0) + 1);
    const hasBody = method !== 'DELETE';
    const { status, text } = await fetch(`${this.#url}${adminBasePath}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.#token}`,
        ...(hasBody && { 'Content-Type': 'application/json' }),
      },
      ...(hasBody && { body: JSON.stringify(body) }),
    }).then(
      async (response) => ({ status: response.status, text: await response.text() }),
      () => Promise.reject(new Gone()),
    );
    if (status === 503 && text.includes('Nothing was changed')) {
      // A busy machine; the log has nothing of it, either.
      this.sent.set(operation, (this.sent.get(operation) ?? 0) - 1);
      return this.#send<Answer>(operation, request, object, body);
    }
    if (status >= 300) throw new Error(`${request} was answered ${status}: ${text}`);
    const answer = (text === '' ? undefined : JSON.parse(text)) as Answer;
    const id = object.includes(':') ? '' : `:${(answer as Made).id}`;
    this.acknowledged.push({ operation, object: object + id });
    return answer;
  };
}
