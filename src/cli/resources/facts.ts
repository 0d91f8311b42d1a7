/**
 * Properties of commands that their rows lack. A command needs an entry only if it differs from its derived
 * form.
 */
import type { AdminOperationId } from '../../contract/admin/operations.ts';
import { scopes } from '../../domain/scope.ts';
import { atOnce } from '../command.ts';

export interface Facts {
  /** The first word of its name; defaults to the last name in the path. */
  readonly resource?: string;
  /** The last word of its name; defaults to the first word of the `operationId`. */
  readonly verb?: string;
  /** Its description; defaults to the row's summary of a read, and to the row's description of a change. */
  readonly about?: string;
  readonly positional?: readonly string[];
  readonly only?: readonly string[];
  readonly notes?: readonly string[];
  /** The arguments and options of its examples; default to the examples of the row's schemas. */
  readonly examples?: readonly string[];
  readonly isWhole?: true;
  readonly nouns?: readonly [noun: string, nouns: string];
  /** The object of the path parameter, if its name may be used instead of the id. */
  readonly byName?: 'operator';
}

export const scopesNotes = [
  `Scopes: ${scopes.join(', ')}.`,
  'A request that needs another scope gets 403, with the name of the scope. getRateLimit needs none.',
];

const actorForms = 'An actor is such as operator:anna or cli:root, and an object such as account:7 or key:3.';

const step = { notes: [atOnce] };

/** Operations whose commands are written by hand instead of derived. */
const handwritten: ReadonlySet<AdminOperationId> = new Set([
  ...(['createPet', 'createKey', 'rotateKey', 'listEvents', 'getEventLog'] as const),
]);

export const facts: { readonly [Id in AdminOperationId]?: Facts | readonly Facts[] } = {
  listAccounts: { isWhole: true, examples: ['', '--name seattle --json'] },
  createAccount: {
    examples: [
      '--name "Seattle shop" --plan pro',
      '--name Partner --plan enterprise --per-minute 5000 --per-day 1000000 --json',
    ],
  },
  getAccount: {
    notes: ['For its keys, see keys list --account. For its usage, see limits show and usage --account.'],
  },
  updateAccount: [
    { verb: 'rename', about: 'Rename an account.', only: ['name'], positional: ['name'] },
    {
      verb: 'set-plan',
      about: "Change an account's plan.",
      only: ['plan', 'perMinute', 'perDay'],
      positional: ['plan'],
      notes: [atOnce],
      examples: ['2 business', '2 enterprise --per-minute 5000 --per-day 1000000'],
    },
    {
      verb: 'set-note',
      about: 'Set the note of an account, which clients cannot read.',
      only: ['note'],
      positional: ['note'],
      notes: ['An empty note removes it.'],
      examples: ['2 "Wants Business from May; answer by Friday."', '2 ""'],
    },
  ],
  closeAccount: step,
  reopenAccount: step,
  getAccountLimits: { notes: ['This does not count as a request of the account.'] },
  listKeys: {
    isWhole: true,
    notes: ['LAST USED is to the minute. TODAY counts requests since 00:00 UTC.'],
  },
  updateKey: {
    verb: 'set-scopes',
    positional: ['scopes'],
    notes: ['This replaces all scopes of the key.', ...scopesNotes, atOnce],
    examples: ['3 pets:read,orders:write', '3 all'],
  },
  revokeKey: { about: 'Revoke a key permanently.', ...step },
  listBans: {
    notes: [
      'LEVEL is the number of consecutive bans before this one. Each ban lasts twice as long as the one before.',
    ],
  },
  liftBan: step,
  getKeyBanStatus: {
    resource: 'bans',
    verb: 'status',
    notes: ['A strike is a request that was sent after 429 without waiting for Retry-After.'],
    examples: ['3', '3 --json'],
  },
  createOperator: {
    positional: ['name'],
    notes: ['The store keeps only the SHA-256 hash and last four characters of the token.'],
  },
  rotateOperator: { byName: 'operator', examples: ['anna', '2'] },
  revokeOperator: {
    about: 'Revoke an operator permanently. The token and all sessions end immediately.',
    byName: 'operator',
    examples: ['anna', '2'],
  },
  listPets: { notes: ['The filters can be combined. To write all animals to a file, use export.'] },
  updatePet: {
    about: 'Change an animal. Omitted members are unchanged.',
    notes: [
      'available can become pending or sold, pending can become available or sold, sold can become available.',
      'While an open order reserves the animal, its status cannot be changed.',
    ],
  },
  placeOrder: { positional: ['petId'] },
  putCategory: { positional: ['name'] },
  getAccountWebhook: { notes: ['For its deliveries, see webhooks deliveries. Secrets are not shown.'] },
  listAccountDeliveries: {
    resource: 'webhooks',
    verb: 'deliveries',
    notes: ['The newest come first. LAST is the outcome of the last attempt; --json has all attempts.'],
    examples: ['1', '1 --status failed --json'],
  },
  testAccountWebhook: {
    notes: [
      'This command sends the request: set SECRETS_KEY and WEBHOOK_ALLOWED_NETWORKS as for the service.',
      'It ends with exit code 1 if the receiver does not respond with 2xx.',
    ],
    examples: ['1', '1 --json'],
  },
  redeliverAccountEvents: {
    notes: ['For one delivery, see webhooks redeliver-delivery. The service sends them within a second.'],
    examples: ['1 --after 41', '1 --after 41 --json'],
  },
  redeliverAccountDelivery: {
    resource: 'webhooks',
    verb: 'redeliver-delivery',
    examples: ['1 2', '1 2 --json'],
  },
  listCategoriesInUse: {
    resource: 'categories',
    verb: 'in-use',
    examples: ['', '--named false --json'],
  },
  search: {
    resource: 'search',
    positional: ['text'],
    examples: ['seattle', 'key:7 --json'],
  },
  listAudit: {
    notes: [
      'The latest come first. With --json, each has the object before and after the change.',
      actorForms,
    ],
    examples: ['--since 24h', '--account 7 --limit all --json'],
  },
  exportAudit: {
    about: 'Export changes as NDJSON, the oldest first. The service can keep running.',
    notes: [
      'Each line is an entry, as audit list --json has it. The file appears when it is complete.',
      actorForms,
    ],
    examples: ['audit.ndjson --since 2026-11-01 --until 2026-12-01', '- | gzip > audit.ndjson.gz'],
    nouns: ['entry', 'entries'],
  },
};

/** The facts of each command of an operation; none of an operation without commands. */
export function factsOf(id: AdminOperationId): readonly Facts[] {
  if (handwritten.has(id)) return [];
  const own = facts[id] ?? {};
  return Array.isArray(own) ? own : [own as Facts];
}
