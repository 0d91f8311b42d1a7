/** A call to every unit of work, in an order in which each succeeds on an empty store and changes something. */
import { bodyExamples } from '../../scripts/openapi/examples.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { sharedOperations } from '../../src/contract/operations.ts';
import { leaseLevels } from '../../src/domain/delivery.ts';
import { resolveQuota } from '../../src/domain/plan.ts';
import type { units } from '../../src/operations/units.ts';
import type { KeyUsage } from '../../src/storage/admin.ts';
import type { UnitInput } from '../../src/storage/transaction.ts';
import { newKey, newPet } from './samples.ts';

type AllUnits = typeof units;

export type UnitName = keyof AllUnits;

export type Call = { [Name in UnitName]: readonly [Name, UnitInput<AllUnits[Name]>] }[UnitName];

const now = 1_790_000_000_000;
const day = 20_000 * 86_400_000;
const write = { params: {}, preconditions: {}, now };
const pet = (petId: bigint) => ({ ...write, params: { petId } });
const order = (orderId: bigint) => ({ ...write, params: { orderId } });
const category = (categoryId: bigint) => ({ ...write, params: { categoryId } });
const orderOf = (petId: bigint) => ({ ...write, body: { petId, reference: 'cart "1042" \u2028 猫' } });

const { accountId: _, ...firstKey } = newKey(0, 'a'.repeat(64));
const operator = (name: string, fingerprint = name) =>
  ({ name, role: 'admin', fingerprint, lastFour: 'wxyz', createdAt: now }) as const;
const sessionOf = (operatorId: number, fingerprint: string) => ({
  session: {
    operatorId,
    fingerprint,
    actor: 'operator:anna',
    role: 'admin',
    usedAt: now,
    expiresAt: now + 9,
  } as const,
  idleMs: 9,
  lastFour: 'wxyz',
});
const entry = {
  at: now,
  actor: 'cli:root',
  operation: 'liftBan',
  object: 'key:1',
  before: null,
  after: '{"name":"\u2028"}',
};

function report(from: number) {
  const counts: KeyUsage = {
    keyId: 1,
    accountId: 1,
    ok: 1,
    refused: 2,
    limited: 3,
    failed: 4,
    deprecated: 5,
    lastUsedAt: from,
  };
  const operations = ['addPet', 'listPets'].map((operation) => ({ operation, requests: 5 }));
  return {
    minutes: ['ok', 'Z', '_'].map((code) => ({ minute: from, operation: 'listPets', code, requests: 7 })),
    keys: [1, 2].map((keyId) => ({ ...counts, keyId, accountId: keyId, hour: from, operations })),
    latencies: [19, 20].map((bucket) => ({ minute: from, bucket, requests: 7 })),
    number: { process: 'one', number: from, reportedAt: from },
    instance: { name: `from ${from}`, version: '1', startedAt: from, seenAt: from },
  };
}

const accountCalls: readonly Call[] = [
  ['createFirstKey', { account: { name: 'default', plan: 'free', createdAt: now }, key: firstKey }],
  [
    'createAccount',
    { name: 'Käthe', plan: 'enterprise', quota: { perMinute: 7, perDay: 10 ** 12 }, createdAt: now },
  ],
  ['createKey', newKey(2, 'b'.repeat(64), now)],
  ['createKey', newKey(2, 'c'.repeat(64))],
  ['updateAccount', { id: 2, name: 'ÄPFEL', limits: resolveQuota('pro') }],
  ['setKeyScopes', { id: 3, scopes: ['orders:read', 'orders:write'], preconditions: {} }],
  ['rotateKey', { oldId: 3, oldEndsAt: now, successor: newKey(2, 'd'.repeat(64)) }],
  ['revokeKey', { id: 2, at: now }],
  ['closeAccount', { id: 2, closedAt: now }],
  ['reopenAccount', { id: 2, closedAt: null }],
];

const shopCallsBefore: readonly Call[] = [
  ['createPet', { ...write, body: newPet(' "quoted", \\ and \t', 'available', -1n) }],
  [
    'commitImport',
    {
      now: 0,
      pets: Array.from({ length: 6 }, (_, index) => newPet(`imported ${index}`)),
      run: { source: 'f'.repeat(64), lastLine: 9, added: 6, rejected: 3, finished: true },
      entry,
    },
  ],
  ['putCategory', { ...category(-1n), body: { name: 'Dogs' } }],
  ['putCategory', { ...category(1n), body: { name: 'Cats' } }],
  ['updatePet', { ...pet(2n), body: { name: 'Rex' } }],
  ['placeOrder', orderOf(1n)],
  ['approveOrder', order(1n)],
  ['deliverOrder', order(1n)],
  ['returnOrder', order(1n)],
  ['placeOrder', orderOf(2n)],
  ['cancelOrder', order(2n)],
  [
    'once',
    {
      operationId: 'placeOrder',
      input: orderOf(3n),
      once: { accountId: 1, key: 'a', request: 'r' },
      at: now,
    },
  ],
  [
    'createPetOnce',
    { input: { ...write, body: newPet('once') }, once: { accountId: 1, key: 'Z~', request: 'r' }, at: now },
  ],
  // The stored response to this request has expired. The animal's id is the highest when it is deleted.
  [
    'createPetOnce',
    { input: { ...write, body: newPet('old') }, once: { accountId: 1, key: 'old', request: 'r' }, at: 1 },
  ],
  ['pruneResponses', now],
];

const shopCallsAfter: readonly Call[] = [
  ['deletePet', pet(9n)],
  ['deletePet', pet(1n)],
  ['deleteCategory', category(1n)],
];

const caller = { accountId: 1, scopes: ['webhooks:write', 'pets:read', 'events:read'] } as const;
const webhook = (webhookId: bigint) => ({ ...write, params: { webhookId }, caller });
const endpoint = { mistake: undefined };
const newWebhook = {
  ...write,
  caller,
  endpoint,
  events: { oldest: 1n, last: 0n },
  secret: 'sealed',
  body: { url: 'https://shop.example/ "猫"' },
};
const take = {
  now,
  leasedUntil: now + 9,
  room: 9,
  after: 0n,
  held: {},
  heldOfFast: {},
  heldOfOthers: {},
  limits: leaseLevels[0],
  full: [],
  fast: [],
  waiting: [],
  perSecond: 10_000,
  round: 0,
};
const bounds = { oldest: 1n, last: 9n };
const settled = {
  id: 1n,
  webhookId: 1n,
  leasedUntil: now + 9,
  status: 'succeeded',
  attempts: '["猫"]',
} as const;

const webhookCalls: readonly Call[] = [
  ['setKeyScopes', { id: 1, scopes: ['pets:read', 'events:read'], preconditions: {} }],
  ['createWebhook', newWebhook],
  ['createWebhook', { ...newWebhook, body: { ...newWebhook.body, types: ['pet.*'], description: 'Stock' } }],
  // Assigns event ids on PostgreSQL.
  ['skipEvents', null],
  ['addPaces', null],
  ['dispatchDeliveries', { settled: [], lease: take }],
  ['dispatchDeliveries', { settled: [{ ...settled, nextAttemptAt: null, finishedAt: now }], lease: take }],
  [
    'disableWebhook',
    {
      delivery: { id: 2n, webhookId: 2n, leasedUntil: now + 9, url: newWebhook.body.url },
      ...{ reason: 'gone', since: now + 1, now },
    },
  ],
  ['releaseDeliveries', now],
  ['rescheduleDeliveries', { after: 0n, now, latestLease: now, latestRetry: now }],
  ['redeliver', { ...write, caller, params: { webhookId: 1n, deliveryId: 1n } }],
  ['redeliverAccountDelivery', { ...write, params: { webhookId: 1n, deliveryId: 1n } }],
  ['pruneDeliveries', now + 1],
  ['trimDeliveries', { keep: 0, after: null }],
  ['updateWebhook', { ...webhook(2n), endpoint, events: bounds, body: { enabled: true } }],
  ['redeliverEvents', { ...webhook(2n), events: bounds, body: { after: 3n } }],
  ['rotateWebhookSecret', { ...webhook(2n), secret: 'other' }],
  [
    'resealWebhooks',
    [
      {
        id: 2n,
        before: { secret: 'other', formerSecret: 'sealed' },
        after: { secret: 'again', formerSecret: undefined },
      },
    ],
  ],
  ['disableWebhookByOperator', { id: 2n, reason: 'Overloaded.', now }],
  ['enableWebhookByOperator', { id: 2n, lastEvent: 9n, now }],
  ['redeliverAccountEvents', { ...write, params: { webhookId: 2n }, events: bounds, body: { after: 2n } }],
  ['disableWebhookByOperator', { id: 2n, reason: 'Overloaded.', now }],
  ['pruneEvents', now + 1],
  ['deleteWebhook', webhook(1n)],
  ['sweepWebhooks', null],
];

const operatorCalls: readonly Call[] = [
  ['createOperator', operator('anna')],
  ['createOperator', operator('bob')],
  ['addSession', sessionOf(1, 's')],
  ['addSession', sessionOf(2, 't')],
  ['useSession', { fingerprint: 's', at: now + 1 }],
  ['rotateOperator', { id: 1, fingerprint: 'next', lastFour: 'abcd' }],
  ['removeSession', 't'],
  ['revokeOperator', { id: 2, at: now }],
  ['audited', { unit: 'closeAccount', input: { id: 2, closedAt: now }, actor: 'operator:anna', at: now }],
  [
    'audited',
    {
      ...{ unit: 'reopenAccount', input: { id: 2, closedAt: null }, actor: 'operator:anna', at: now },
      once: { accountId: 0, key: 'k', request: 'r', sealed: null, at: now },
    },
  ],
  ['recordAudit', entry],
  ['addSession', { ...sessionOf(1, 'u'), lastFour: 'abcd' }],
  ['recordUsage', report(day - 86_400_000)],
  ['recordUsage', report(day)],
  ['pruneUsage', { minutes: day, history: day, hours: day, days: day, reports: day, instances: day }],
];

const written = [...shopCallsBefore, ...shopCallsAfter].map(([name]) => name);

/** Calls derived from the examples of rows, for an animal that remains and one that is deleted later. */
const derivedCalls = (Object.values(sharedOperations) as (Operation & { readonly operationId: UnitName })[])
  .filter(({ operationId, method }) => method !== 'GET' && !written.includes(operationId))
  .flatMap((row) =>
    [2n, 9n].map((id) => {
      const params = Object.fromEntries(Object.keys(row.params ?? {}).map((name) => [name, id]));
      const [example] = Object.values(bodyExamples(row));
      return [row.operationId, { ...write, params, body: example?.value }] as unknown as Call;
    }),
  );

export const sampleCalls: readonly Call[] = [
  ...accountCalls,
  ...shopCallsBefore,
  ...derivedCalls,
  ...shopCallsAfter,
  ...webhookCalls,
  ...operatorCalls,
];
