import * as z from 'zod';
import { ApiError } from '../src/contract/api-error.ts';
import { errors } from '../src/contract/errors.ts';
import { validate } from '../src/contract/validation.ts';
import { enumMessage } from '../src/contract/values.ts';
import { PlanError } from '../src/domain/plan.ts';
import { scopes } from '../src/domain/scope.ts';
import { readJsonBody } from '../src/http/pipeline/body.ts';
import { validationError } from '../src/http/pipeline/input.ts';
import { requestPath, requestQuery } from '../src/http/pipeline/query.ts';
import { errorBody, fallbackReply } from '../src/http/pipeline/reply.ts';
import { errorPageHeaders } from '../src/http/pipeline/response-headers.ts';
import type { Exchange } from '../src/http/server.ts';
import type { NewSandboxAccount, SandboxAccount } from './accounts.ts';
import type { SandboxClock } from './clock.ts';
import { flushDelayMs } from './connection.ts';
import { InvalidFaultError, parseFault } from './fault.ts';
import { type FaultScope, type Faults, maxFaults } from './faults.ts';
import { checkOrigin } from './origin.ts';
import { renderIndex } from './render-index.ts';
import type { Requests } from './requests.ts';
import type { StoreEntry, Stores } from './stores.ts';

export const controlPath = '/sandbox';
/** While connections are refused, the sandbox cannot be controlled. */
const maxRefusalSeconds = 600;

interface ControlOptions {
  readonly clock: SandboxClock;
  readonly faults: Faults;
  readonly requests: Requests;
  /** Isolated stores. Undefined in an isolated store, because it cannot create other stores. */
  readonly stores: Stores | undefined;
  readonly accounts: readonly SandboxAccount[];
  readonly createAccount: (account: NewSandboxAccount) => Promise<SandboxAccount>;
  /** Throws `account_not_found`. */
  readonly findAccount: (id: number) => Promise<unknown>;
  /** Throws `key_not_found`. */
  readonly revokeKey: (key: string) => Promise<void>;
  readonly reset: () => void;
}

interface ControlRequest {
  readonly request: Request;
  readonly whose: FaultScope;
  /** Id at the end of the path; NaN if there is none. */
  readonly id: number;
  readonly refuseConnections: Exchange['refuseConnections'];
}

type Handler = (request: ControlRequest) => unknown;

const integer = z.bigint('must be a whole number').transform(Number);
const accountId = integer.optional();
const faultText = z.string('must be a string, such as "status=503; rate=0.2"');

const FaultsBody = z.strictObject({
  faults: z.union([faultText, z.array(faultText).max(maxFaults)], 'must be a string or a list of strings'),
  account: accountId,
});
const KeyBody = z.strictObject({ key: z.string() });
const RefusalBody = z.strictObject({ seconds: integer });
const ClockBody = z.strictObject({ advanceSeconds: integer.optional(), to: z.string().optional() });
const AccountBody = z.strictObject({
  plan: z.string().default('free'),
  perMinute: integer.optional(),
  perDay: integer.optional(),
  expiresInSeconds: integer.optional(),
  scopes: z
    .array(z.enum(scopes, enumMessage(scopes)))
    .min(1)
    .optional(),
});

export class Control {
  readonly #options: ControlOptions;
  readonly #routes: Readonly<Record<string, Readonly<Record<string, Handler>>>>;

  constructor(options: ControlOptions) {
    this.#options = options;
    const { faults, requests, accounts } = options;
    this.#routes = {
      '': { GET: ({ request }) => this.#index(request) },
      '/faults': {
        GET: () => this.#faults(),
        POST: ({ request }) => this.#ask(request),
        DELETE: ({ whose }) => faults.end(whose),
      },
      '/clock': { GET: () => this.#clock(), POST: ({ request }) => this.#advance(request) },
      '/requests': {
        GET: ({ whose }) => requests.list(whose),
        DELETE: ({ whose }) => requests.clear(whose),
      },
      '/accounts': { GET: () => accounts, POST: ({ request }) => this.#createAccount(request) },
      '/keys/revoke': { POST: ({ request }) => this.#revoke(request) },
      '/refuse': { POST: (request) => this.#refuse(request) },
      '/reset': { POST: () => options.reset() },
      ...(options.stores && storeRoutes(options.stores)),
    };
  }

  async answer({
    context,
    incoming: { request, requestId },
    refuseConnections,
  }: Exchange): Promise<Response> {
    try {
      checkOrigin(request);
      const [, path = '', id] = pathForm.exec(requestPath(request.url).slice(controlPath.length)) ?? [];
      const methods = this.#routes[id === undefined ? path : `${path}/{id}`];
      if (methods === undefined) throw new ApiError('route_not_found', { message: unknownPath });
      const handler = methods[request.method === 'HEAD' ? 'GET' : request.method];
      if (handler === undefined) {
        const Allow = Object.keys(methods).join(', ');
        return controlResponse(requestId, new ApiError('method_not_allowed'), { Allow });
      }
      const whose = await this.#known(scopeOf(request.url));
      return controlResponse(requestId, await handler({ request, whose, id: Number(id), refuseConnections }));
    } catch (error) {
      if (error instanceof ApiError) return controlResponse(requestId, error);
      if (error instanceof InvalidFaultError || error instanceof PlanError) {
        return controlResponse(requestId, new ApiError('invalid_body', { message: error.message }));
      }
      return fallbackReply(context, requestId, error);
    }
  }

  #index(request: Request): unknown {
    const { origin } = new URL(request.url);
    const isJson = request.headers.get('accept')?.includes('json') === true;
    const { accounts } = this.#options;
    return isJson
      ? { url: origin, accounts, clock: this.#clock(), faults: this.#faults() }
      : new Response(renderIndex(origin, accounts), {
          headers: { 'Content-Type': 'text/plain;charset=utf-8' },
        });
  }

  #faults() {
    return [...this.#options.faults.all()].map(([whose, { fault, hits, left }]) => ({
      faults: fault.text,
      account: whose ?? null,
      hits,
      left: left ?? null,
    }));
  }

  async #ask(request: Request) {
    const { faults, account } = await bodyOf(request, FaultsBody);
    const texts = typeof faults === 'string' ? [faults] : faults;
    this.#options.faults.ask(await this.#known(account), texts.map(parseFault));
    return this.#faults();
  }

  /** Throws `account_not_found` for an unknown account, because faults set for it would never be triggered. */
  async #known(whose: FaultScope): Promise<FaultScope> {
    if (whose !== undefined) await this.#options.findAccount(whose);
    return whose;
  }

  #clock() {
    const { clock } = this.#options;
    return { now: new Date(clock.now()).toISOString(), advancedSeconds: clock.advancedSeconds };
  }

  async #advance(request: Request) {
    const { clock } = this.#options;
    const { advanceSeconds, to } = await bodyOf(request, ClockBody);
    if ((advanceSeconds === undefined) === (to === undefined)) {
      throw invalid('Send either "advanceSeconds" or "to"; for example, {"advanceSeconds": 60}.');
    }
    const until = to === undefined ? undefined : Date.parse(to);
    if (Number.isNaN(until)) throw invalid('"to" must be a date such as 2030-12-05T00:00:00Z.');
    const ms = until === undefined ? (advanceSeconds ?? 0) * 1_000 : until - clock.now();
    if (!clock.advance(ms)) {
      throw invalid(
        `The clock can only be advanced, up to the year 9998. Its current time is ${this.#clock().now}. To reset it, send POST /sandbox/reset.`,
      );
    }
    return this.#clock();
  }

  async #revoke(request: Request): Promise<void> {
    const { key } = await bodyOf(request, KeyBody);
    await this.#options.revokeKey(key);
  }

  /** Refuses connections after the response has been sent. */
  async #refuse({ request, refuseConnections }: ControlRequest): Promise<void> {
    const { seconds } = await bodyOf(request, RefusalBody);
    if (!(seconds >= 1 && seconds <= maxRefusalSeconds))
      throw invalid(`"seconds" must be from 1 to ${maxRefusalSeconds}.`);
    setTimeout(() => refuseConnections(seconds * 1_000), flushDelayMs);
  }

  async #createAccount(request: Request) {
    const account = await bodyOf(request, AccountBody);
    if (account.expiresInSeconds !== undefined && account.expiresInSeconds < 1) {
      throw invalid('"expiresInSeconds" must be at least 1.');
    }
    return this.#options.createAccount(account);
  }
}

const pathForm = /^(\/?[\w/-]*?)(?:\/(\d{1,9}))?\/?$/;

function storeRoutes(stores: Stores): Readonly<Record<string, Readonly<Record<string, Handler>>>> {
  return {
    '/stores': {
      GET: ({ request }) => stores.list().map((entry) => reachedBy(request, entry)),
      POST: async ({ request }) => reachedBy(request, await stores.create()),
    },
    '/stores/{id}': { DELETE: ({ id }) => stores.remove(id) },
  };
}

/** Replaces the host in the store's URL with the host that the client used in this request. */
function reachedBy(request: Request, entry: StoreEntry): StoreEntry {
  const url = new URL(entry.url);
  url.hostname = new URL(request.url).hostname;
  return { ...entry, url: url.origin };
}

const unknownPath = 'Unknown path. GET /sandbox lists the paths.';

function invalid(message: string): ApiError {
  return new ApiError('invalid_body', { message });
}

/** Returns the account in the `account` parameter; undefined for all accounts. */
function scopeOf(url: string): FaultScope {
  const parameters = new URLSearchParams(requestQuery(url));
  const text = parameters.get('account');
  const others = [...parameters.keys()].filter((name) => name !== 'account');
  if (others.length === 0 && (text === null || /^\d{1,15}$/.test(text))) {
    return text === null ? undefined : Number(text);
  }
  const message = 'The only supported parameter is account, an account id: ?account=5';
  throw new ApiError('invalid_parameter', { message });
}

async function bodyOf<Shape extends z.ZodRawShape>(
  request: Request,
  schema: z.ZodObject<Shape, z.core.$strict>,
): Promise<z.infer<z.ZodObject<Shape, z.core.$strict>>> {
  const { value, mistakes } = await readJsonBody(request, { schema, optional: true });
  const checked = validate(schema, value, 'body');
  if (mistakes.length === 0 && 'value' in checked) return checked.value as z.infer<typeof schema>;
  throw validationError([...mistakes, ...('mistakes' in checked ? checked.mistakes : [])]);
}

function controlResponse(requestId: string, result: unknown, more: Record<string, string> = {}): Response {
  const headers = { ...errorPageHeaders, 'X-Request-Id': requestId, ...more };
  if (result instanceof Response) {
    for (const [name, value] of Object.entries(headers))
      if (name !== 'Content-Type') result.headers.set(name, value);
    return result;
  }
  if (result instanceof ApiError) {
    return new Response(errorBody(result), { status: errors[result.code].status, headers });
  }
  if (result === undefined)
    return new Response(null, { status: 204, headers: { 'X-Request-Id': requestId } });
  return new Response(`${JSON.stringify(result, null, 2)}\n`, { headers });
}
