/** Properties of commands that cannot be derived from their operations. Only exceptions to the defaults are listed. */
import type { AdminOperationId } from '../../contract/admin/operations.ts';
import { scopes } from '../../domain/scope.ts';
import { takesEffectNote } from '../command.ts';

export interface CommandOverrides {
  /** First word of the command's name. Defaults to the last resource name in the path. */
  readonly resource?: string;
  /** Last word of the command's name. Defaults to the first word of the `operationId`. */
  readonly verb?: string;
  /** Description. Defaults to the operation's summary for a read, and to its description for a change. */
  readonly about?: string;
  readonly positional?: readonly string[];
  readonly only?: readonly string[];
  readonly notes?: readonly string[];
  /** Arguments and options for the help's examples. By default, the examples come from the operation's schemas. */
  readonly examples?: readonly string[];
  readonly isWhole?: true;
  readonly nouns?: readonly [noun: string, nouns: string];
  /** Object type of the path parameter, if the command accepts a name instead of an id. */
  readonly byName?: 'operator';
}

/** Lines of at most 100 characters. */
export const scopesNotes = [
  ...(`Scopes: ${scopes.join(', ')}.`.match(/\S.{0,98}[,.](?= |$)/g) ?? []),
  'A 403 response names the required scope that the key lacks. getRateLimit requires no scope.',
];

const actorExamples = 'Examples of actors: operator:anna, cli:root. Examples of objects: account:7, key:3.';

const step = { notes: [takesEffectNote] };

/** Operations with handwritten commands. */
const handwrittenCommands: ReadonlySet<AdminOperationId> = new Set([
  ...(['createPet', 'createKey', 'rotateKey', 'listEvents', 'getEventLog'] as const),
]);

const commandOverrides: {
  readonly [Id in AdminOperationId]?: CommandOverrides | readonly CommandOverrides[];
} = {
  listAccounts: { isWhole: true, examples: ['', '--name seattle --json'] },
  createAccount: {
    examples: [
      '--name "Seattle shop" --plan pro',
      '--name Partner --plan enterprise --per-minute 5000 --per-day 1000000 --json',
    ],
  },
  getAccount: {
    notes: [
      'To list the keys of an account, run "keys list --account". To show its usage, run "limits show" or "usage --account".',
    ],
  },
  updateAccount: [
    { verb: 'rename', about: 'Rename an account.', only: ['name'], positional: ['name'] },
    {
      verb: 'set-plan',
      about: "Change an account's plan.",
      only: ['plan', 'perMinute', 'perDay'],
      positional: ['plan'],
      notes: [takesEffectNote],
      examples: ['2 business', '2 enterprise --per-minute 5000 --per-day 1000000'],
    },
    {
      verb: 'set-note',
      about: "Set an account's note, which is not visible to clients.",
      only: ['note'],
      positional: ['note'],
      notes: ['An empty string removes the note.'],
      examples: ['2 "Wants Business from May; answer by Friday."', '2 ""'],
    },
  ],
  closeAccount: step,
  reopenAccount: step,
  getAccountLimits: { notes: ["This command does not count against the account's limits."] },
  listKeys: {
    isWhole: true,
    notes: ['LAST USED is accurate to the minute. TODAY counts requests since 00:00 UTC.'],
  },
  updateKey: {
    verb: 'set-scopes',
    positional: ['scopes'],
    notes: ['This replaces all scopes of the key.', ...scopesNotes, takesEffectNote],
    examples: ['3 pets:read,orders:write', '3 all'],
  },
  revokeKey: { about: 'Revoke a key permanently.', ...step },
  listBans: {
    notes: [
      'LEVEL is the number of consecutive bans before this ban. Each ban lasts twice as long as the previous one.',
    ],
  },
  liftBan: step,
  getKeyBanStatus: {
    resource: 'bans',
    verb: 'status',
    notes: ['A strike is a request that was sent after a 429 response without waiting for Retry-After.'],
    examples: ['3', '3 --json'],
  },
  createOperator: {
    positional: ['name'],
    notes: ['The store keeps only the SHA-256 hash and last four characters of the token.'],
  },
  rotateOperator: { byName: 'operator', examples: ['anna', '2'] },
  revokeOperator: {
    about: 'Permanently revoke the token and all sessions of an operator, effective immediately.',
    byName: 'operator',
    examples: ['anna', '2'],
  },
  listPets: { notes: ['The filters can be combined. To write all animals to a file, run "export".'] },
  updatePet: {
    about: 'Change an animal. Omitted fields are unchanged.',
    notes: [
      'available can change to pending or sold, pending to available or sold, and sold to available.',
      'While an open order reserves the animal, its status cannot be changed.',
    ],
  },
  placeOrder: { positional: ['petId'] },
  putCategory: { positional: ['name'] },
  getAccountWebhook: { notes: ['To list its deliveries, run "webhooks deliveries". Secrets are not shown.'] },
  listAccountDeliveries: {
    resource: 'webhooks',
    verb: 'deliveries',
    notes: [
      'The newest deliveries come first. LAST is the outcome of the last attempt. --json shows all attempts.',
    ],
    examples: ['1', '1 --status failed --json'],
  },
  testAccountWebhook: {
    notes: [
      "This command sends the request itself, so it needs the service's SECRETS_KEY and WEBHOOK_ALLOWED_NETWORKS.",
      'The exit code is 1 if the receiver does not respond with 2xx.',
    ],
    examples: ['1', '1 --json'],
  },
  redeliverAccountEvents: {
    notes: [
      'The service sends the events within a second. To send a single delivery again, run "webhooks redeliver-delivery".',
    ],
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
      'The latest changes come first. With --json, each entry contains the object before and after the change.',
      actorExamples,
    ],
    examples: ['--since 24h', '--account 7 --limit all --json'],
  },
  exportAudit: {
    about: 'Export changes as NDJSON, oldest first. The service can keep running.',
    notes: [
      'Each line is an entry in the format of audit list --json. The file appears only when it is complete.',
      actorExamples,
    ],
    examples: ['audit.ndjson --since 2026-11-01 --until 2026-12-01', '- | gzip > audit.ndjson.gz'],
    nouns: ['entry', 'entries'],
  },
};

/** Returns the properties of each command for an operation. Empty if the operation has no commands. */
export function commandOverridesFor(id: AdminOperationId): readonly CommandOverrides[] {
  if (handwrittenCommands.has(id)) return [];
  const own = commandOverrides[id] ?? {};
  return Array.isArray(own) ? own : [own as CommandOverrides];
}
