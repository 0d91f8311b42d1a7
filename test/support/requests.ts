/** Creates a successful request for any operation from the operation's definition and the contract's examples. */
import { bodyExamples } from '../../scripts/openapi/examples.ts';
import { maxWebhooks } from '../../src/contract/bounds.ts';
import { mediaTypes, type Operation } from '../../src/contract/operation.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import type { OrderStatus } from '../../src/contract/orders.ts';
import { computeFingerprint } from '../../src/domain/key.ts';
import { allowedTransitions, statusAfter } from '../../src/domain/order-status.ts';
import type { TestApp } from './app.ts';
import type { CallOptions } from './call.ts';
import { newPet } from './pets.ts';
import { leaseRequest } from './webhooks.ts';

/** A valid request that tests can modify. */
export interface Sample {
  readonly operation: Operation & { readonly operationId: OperationId };
  readonly target: string;
  readonly options: CallOptions;
}

interface Inputs {
  readonly operation: Operation;
  /** The account that sends the request. */
  readonly accountId: number;
  /** Ids of objects created earlier, keyed by parameter name. */
  readonly named: ReadonlyMap<string, bigint>;
}

/**
 * Functions that create the object to which a parameter or member of this name refers, in the state that the operation
 * needs.
 */
const makers: Readonly<Record<string, (app: TestApp, inputs: Inputs) => Promise<bigint>>> = {
  petId: async (app) => idOf(app, 'POST', '/pets', newPet()),
  categoryId: async (app) => {
    const id = ++lastCategory;
    return idOf(app, 'PUT', `/categories/${id}`, '{"name":"To be renamed"}');
  },
  orderId: async (app, { operation: { path } }) => {
    const petId = await idOf(app, 'POST', '/pets', newPet());
    const id = await idOf(app, 'POST', '/orders', `{"petId":${petId}}`);
    const wanted = path.split('/').at(-1) ?? '';
    for (const step of stepsTo(wanted)) await idOf(app, 'POST', `/orders/${id}/${step}`);
    return id;
  },
  // Created directly in the store, so that it does not count against the account's limits.
  webhookId: async ({ operator: { storage }, clock }, { accountId }) => {
    const caller = { accountId, scopes: ['webhooks:write', 'pets:read', 'events:read'] } as const;
    const given = {
      caller,
      endpoint: { mistake: undefined },
      events: { oldest: 1n, last: 0n },
      secret: 'whsec_',
      now: clock.now(),
    };
    return (await storage.write('createWebhook', { ...given, body: { url: 'https://shop.example/' } })).id;
  },
  deliveryId: async (app, { named }) => {
    const { storage } = app.operator;
    await idOf(app, 'POST', '/pets', newPet());
    for (let after = 0n; ; ) {
      const lease = leaseRequest(app.clock.now(), { after });
      ({ after } = await storage.write('dispatchDeliveries', { settled: [], lease }));
      const [delivery] = await storage.deliveries.list(undefined, 1, { webhookId: named.get('webhookId') });
      if (delivery !== undefined) return delivery.id;
    }
  },
  after: async ({ operator: { storage } }) => (await storage.events.bounds()).last,
};

/** Deletes webhooks if necessary, because the number of webhooks per account is limited. */
async function makeRoom({ operator: { storage }, clock }: TestApp, accountId: number): Promise<void> {
  const all = await storage.webhooks.list(undefined, maxWebhooks, { accountId });
  for (const { id: webhookId } of all.slice(0, all.length - maxWebhooks / 2)) {
    const given = { caller: { accountId, scopes: [] }, preconditions: {}, now: clock.now() };
    await storage.write('deleteWebhook', { ...given, params: { webhookId } });
  }
}

let lastCategory = 1_000n;

async function idOf(app: TestApp, method: string, target: string, body?: string): Promise<bigint> {
  const answer = await app.call(method, target, body === undefined ? {} : { body });
  if (answer.status >= 300) throw new Error(`${method} ${target} returned ${answer.status}: ${answer.text}`);
  return (answer.json as { id: bigint }).id;
}

/**
 * Transitions from a new order to a status that allows the `wanted` transition. Empty for operations that are not
 * transitions.
 */
function stepsTo(wanted: string): string[] {
  const open: { status: OrderStatus; steps: string[] }[] = [{ status: 'placed', steps: [] }];
  for (const { status, steps } of open) {
    const has = allowedTransitions(status);
    if (has.some((step) => step === wanted)) return steps;
    for (const step of has) {
      const after = statusAfter(status, step);
      if (after !== undefined) open.push({ status: after, steps: [...steps, step] });
    }
  }
  return [];
}

/**
 * A request for the operation that succeeds with this key. It refers to new objects, because an order can be delivered
 * and an animal removed only once. If no function creates the object for a parameter, throws an error that explains
 * what to add.
 */
export async function sampleOf(
  app: TestApp,
  operation: Sample['operation'],
  key: string = app.key,
): Promise<Sample> {
  const { accountId = 0 } = (await app.operator.storage.keys.findCaller(computeFingerprint(key))) ?? {};
  if (operation.needs !== undefined) await makeRoom(app, accountId);
  const named = new Map<string, bigint>();
  for (const name of Object.keys(operation.params ?? {})) {
    const make = makers[name];
    if (make === undefined) {
      throw new Error(
        `Add a maker for the parameter {${name}} of ${operation.path} to test/support/requests.ts.`,
      );
    }
    named.set(name, await make(app, { operation, accountId, named }));
  }
  const target = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => String(named.get(name)));
  return { operation, target, options: await optionsOf(app, { operation, accountId, named }) };
}

/** The first example in the contract, with references to new objects. */
async function optionsOf(app: TestApp, inputs: Inputs): Promise<CallOptions> {
  const { operation } = inputs;
  const { body } = operation;
  if (body === undefined || body.optional) return {};
  const [example] = Object.values(bodyExamples(operation));
  const members = { ...(example?.value as Record<string, unknown>) };
  for (const name of Object.keys(members)) {
    const make = makers[name];
    if (make !== undefined) members[name] = Number(await make(app, inputs));
  }
  return { body: JSON.stringify(members), type: body.types?.[0] ?? mediaTypes.json };
}

/** Sends the sample with additional options. */
export function send(app: TestApp, { operation, target, options }: Sample, more: CallOptions = {}) {
  return app.call(operation.method, target, { ...options, ...more });
}

/** Sends a new sample of the operation. */
export async function sendNew(app: TestApp, operation: Sample['operation'], more: CallOptions = {}) {
  return send(app, await sampleOf(app, operation, more.key ?? undefined), more);
}
