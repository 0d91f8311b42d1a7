import { basePath } from '../../src/contract/operations.ts';

/** A minimal client for load and fault tests. It does not check responses against the contract, unlike `answerOf`. */
export interface Client {
  get(target: string): Promise<Reply>;
  add(name: string): Promise<Reply>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Value of X-RateLimit-Remaining. */
  readonly remaining: number;
  readonly tookMs: number;
}

/** All animals that this client adds have these values, so that tests can detect incomplete rows. */
export const sent = { categoryId: '-9223372036854775808', status: 'sold' } as const;

export function clientOf(url: string, key: string): Client {
  const call = async (target: string, request: RequestInit): Promise<Reply> => {
    const start = performance.now();
    const response = await fetch(url + basePath + target, {
      ...request,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      remaining: Number(response.headers.get('x-ratelimit-remaining')),
      tookMs: performance.now() - start,
    };
  };
  const body = (name: string) =>
    `{"name":${JSON.stringify(name)},"categoryId":${sent.categoryId},"status":"${sent.status}"}`;
  return {
    get: (target) => call(target, { method: 'GET' }),
    add: (name) => call('/pets', { method: 'POST', body: body(name) }),
  };
}
