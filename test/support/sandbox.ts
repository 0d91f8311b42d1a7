import pino from 'pino';
import type { NewSandboxAccount, SandboxAccount } from '../../sandbox/accounts.ts';
import type { RequestEntry } from '../../sandbox/requests.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../sandbox/sandbox.ts';
import { openapiDocument } from '../../src/app/openapi.ts';
import { type Answer, answerOf, type CallOptions } from './call.ts';

/** The sandbox in this process, on a separate port. */
export interface TestSandbox extends Sandbox {
  /** Sends a request to a path under `/sandbox`, with the body as JSON. */
  steer(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Sends a request that must succeed, and returns the response's body. */
  steered<T>(method: string, path: string, body?: unknown): Promise<T>;
  /** Creates an account that no other test uses. */
  account(account?: Partial<NewSandboxAccount>): Promise<SandboxUser>;
}

export interface SandboxUser extends SandboxAccount {
  /** Sends a request and checks the response against the contract. */
  call(method: string, target: string, options?: CallOptions & { readonly fault?: string }): Promise<Answer>;
  /** The account's recorded requests. */
  requests(): Promise<RequestEntry[]>;
}

export async function startTestSandbox(options: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const log = pino({ level: 'silent' });
  const sandbox = await startSandbox({
    host: '127.0.0.1',
    port: 0,
    log,
    openapi: openapiDocument,
    ...options,
  });
  const steer: TestSandbox['steer'] = (method, path, body, headers = {}) =>
    fetch(`${sandbox.url}/sandbox${path}`, {
      method,
      headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const steered: TestSandbox['steered'] = async (method, path, body) => {
    const response = await steer(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} /sandbox${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const account: TestSandbox['account'] = async (wanted = {}) => {
    const made = await steered<SandboxAccount>('POST', '/accounts', wanted);
    return {
      ...made,
      call: (method, target, { fault, headers, ...others } = {}) =>
        answerOf(sandbox.url, method, target, {
          key: made.key,
          headers: { ...headers, ...(fault !== undefined && { 'X-Sandbox': fault }) },
          ...others,
        }),
      requests: () => steered('GET', `/requests?account=${made.account}`),
    };
  };
  return { ...sandbox, steer, steered, account };
}
