/** Text output for each type of object in the contract: the columns of a table, and the text for a single object. */

import type * as z from 'zod';
import { Account, AccountLimits } from '../../contract/admin/accounts.ts';
import { AuditEntry } from '../../contract/admin/audit.ts';
import { Ban } from '../../contract/admin/bans.ts';
import { BanStatus, FoundKey, Key } from '../../contract/admin/keys.ts';
import { Totals } from '../../contract/admin/lists.ts';
import { Operator } from '../../contract/admin/operators.ts';
import { SearchResults } from '../../contract/admin/search.ts';
import {
  KeyUsage,
  MinuteUsage,
  OperationUsage,
  TrafficInterval,
  UsagePeriod,
} from '../../contract/admin/usage.ts';
import { AccountWebhook } from '../../contract/admin/webhooks.ts';
import { Category } from '../../contract/categories.ts';
import { Delivery } from '../../contract/deliveries.ts';
import { Order } from '../../contract/orders.ts';
import { Inventory, Pet } from '../../contract/pets.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { scopes as allScopes } from '../../domain/scope.ts';
import { formatDateTime, formatInteger, formatTable, pluralize } from '../terminal.ts';
import { itemSchema, schemaMeta } from './input-fields.ts';

/** A value as parsed from JSON, with exact integers. */
export type ExactJson<Value> = Value extends number | bigint
  ? bigint
  : Value extends readonly (infer Item)[]
    ? readonly ExactJson<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: ExactJson<Value[Name]> }
      : Value;

type ItemOf<Schema extends z.ZodType> = ExactJson<z.infer<Schema>>;

type MemberOf<Item> = keyof Item & string;

/**
 * A table column: either the name of a member, from which the title is derived, or a title followed by the member or
 * function that provides the cells.
 */
type Column<Item> =
  | MemberOf<Item>
  | readonly [title: string, cell: MemberOf<Item> | ((item: Item) => string)];

interface ItemFormat<Item> {
  /** Defaults to all members. */
  readonly columns?: readonly Column<Item>[];
  readonly emptyText?: string;
  /** Formats a single object. Defaults to a table with one row. */
  readonly text?: (item: Item) => string;
}

const itemFormats = new Map<z.ZodType, ItemFormat<never>>();

function define<Schema extends z.ZodType>(schema: Schema, shape: ItemFormat<ItemOf<Schema>>): void {
  itemFormats.set(schema, shape);
}

const formatIsoTime = (iso: string) => formatDateTime(Date.parse(iso));

export function tableFor(schema: z.ZodType | undefined) {
  const item = itemSchema(schema);
  const { columns = Object.keys(item.shape), emptyText = 'None.' } = (itemFormats.get(item) ??
    {}) as ItemFormat<Cells>;
  const named = columns.map((column) =>
    typeof column === 'string' ? ([columnTitle(column), column] as const) : column,
  );
  const cells = named.map(([, cell]) => (typeof cell === 'string' ? cellFormatter(item, cell) : cell));
  return {
    header: named.map(([title]) => title),
    row: (one: object) => cells.map((cell) => cell(one as Cells)),
    emptyText,
  };
}

export function formatItem(schema: z.ZodType | undefined, item: unknown): string {
  const { text } = itemFormats.get(itemSchema(schema)) ?? {};
  if (text !== undefined) return text(item as never);
  const { header, row } = tableFor(schema);
  return formatTable(header, [row(item as object)]);
}

type Cells = Readonly<Record<string, unknown>>;

/** Returns a column title: `CATEGORY` for `categoryId`, `LAST USED` for `lastUsedAt`. */
function columnTitle(name: string): string {
  return name
    .replace(/(?<=.)(?:Id|At)$/, '')
    .replace(/^pet(?!s)/, 'animal')
    .replace(/[A-Z]/g, ' $&')
    .toUpperCase();
}

/** Returns a formatter for a member's cells: times to the second, counts with thousands separators. */
function cellFormatter({ shape }: z.ZodObject, name: string): (item: Cells) => string {
  const { override } = shape[name] === undefined ? {} : schemaMeta(shape[name] as z.ZodType);
  return ({ [name]: value }) => {
    if (value === null || value === undefined) return '';
    if (override?.format === 'date-time') return formatIsoTime(String(value));
    if (typeof value === 'bigint') return override?.minimum === 0 ? formatInteger(value) : String(value);
    return formatValue(value);
  };
}

function formatValue(value: unknown): string {
  if (typeof value !== 'object') return String(value);
  return JSON.stringify(value, (_name, member) => (typeof member === 'bigint' ? String(member) : member));
}

const formatTimeOrNever = (iso: string | null) => (iso === null ? 'never' : formatIsoTime(iso));

define(Account, {
  emptyText: 'No accounts.',
  columns: [
    ...(['id', 'name', 'plan', 'perMinute', 'perDay', 'createdAt'] as const),
    ['STATE', ({ closedAt }) => (closedAt === null ? 'open' : 'closed')],
  ],
  text: ({ id, name, plan, perMinute, perDay, closedAt, note }) => {
    const closed = closedAt === null ? '' : ` Closed since ${formatIsoTime(closedAt)}.`;
    return `Account ${id} (${escapeUnprintable(name)}), plan ${plan}: ${pluralize(perMinute, 'request')} per minute, ${formatInteger(perDay)} per day.${closed}${note === null ? '' : `\n${escapeUnprintable(note, '\n')}`}`;
  },
});

define(Totals, {
  text: ({ ordersByStatus, ...totals }) =>
    formatTable(
      ['OBJECTS', 'NUMBER'],
      [
        ...Object.entries(totals).map(([name, count]) => [columnTitle(name).toLowerCase(), count] as const),
        ...Object.entries(ordersByStatus).map(([status, count]) => [`${status} orders`, count] as const),
      ].map(([name, count]) => [name, formatInteger(count)]),
    ),
});

define(AccountLimits, {
  text: ({ minute, day }) =>
    formatTable(
      ['WINDOW', 'USED', 'LIMIT', 'RESETS'],
      Object.entries({ minute, day }).map(([name, { used, limit, resetAt }]) => [
        name,
        formatInteger(used),
        formatInteger(limit),
        resetAt === null ? '' : formatIsoTime(resetAt),
      ]),
    ),
});

const formatScopes = ({ scopes }: Pick<ItemOf<typeof Key>, 'scopes'>) =>
  scopes.length === allScopes.length ? 'all' : scopes.join(',');

define(Key, {
  emptyText: 'No keys.',
  columns: [
    ...(['id', 'accountId', 'name'] as const),
    ['KEY', ({ lastFour }) => `…${lastFour}`],
    'createdAt',
    ['EXPIRES', ({ expiresAt }) => formatTimeOrNever(expiresAt)],
    'state',
    ['LAST USED', ({ lastUsedAt }) => formatTimeOrNever(lastUsedAt)],
    ['TODAY', 'requestsToday'],
    ['SCOPES', formatScopes],
  ],
  text: formatKey,
});

define(FoundKey, {
  text: (key) => formatKey(key, key.predecessorId === null ? '' : ` It replaced key ${key.predecessorId}.`),
});

function formatKey(key: ItemOf<typeof Key>, predecessor = ''): string {
  const { id, accountId, name, lastFour, state, createdAt, expiresAt, successorId } = key;
  const expiry = expiresAt === null ? 'never expires' : `expires ${formatIsoTime(expiresAt)}`;
  const successor = successorId === null ? '' : ` Replaced by key ${successorId}.`;
  return [
    `Key ${id} (${escapeUnprintable(name)}) …${lastFour} of account ${accountId}: ${state}.${successor}${predecessor}`,
    `Created ${formatIsoTime(createdAt)}, ${expiry}. Scopes: ${formatScopes(key)}.`,
    `Last used: ${formatTimeOrNever(key.lastUsedAt)}. Requests today (UTC): ${formatInteger(key.requestsToday)}.`,
  ].join('\n');
}

const keyAndAccount = ['keyId', ['NAME', 'keyName'], 'accountId', 'accountName'] as const;

define(Ban, {
  emptyText: 'No keys are banned.',
  columns: [...keyAndAccount, ['SINCE', 'bannedFrom'], ['UNTIL', 'bannedUntil'], 'level', 'reason'],
});

define(BanStatus, {
  text: ({ strikes, strikesToBan, withinSeconds, bans, lastBan, nextBanSeconds }) => {
    const last =
      lastBan === null
        ? 'No ban'
        : `${pluralize(bans, 'consecutive ban')}, the last from ${formatIsoTime(lastBan.from)} until ${formatIsoTime(lastBan.until)}`;
    return [
      `${pluralize(strikes, 'strike')} in the last ${pluralize(withinSeconds, 'second')}; the key is banned at ${formatInteger(strikesToBan)}.`,
      `${last}. The next ban lasts ${pluralize(nextBanSeconds, 'second')}.`,
    ].join('\n');
  },
});

define(Operator, {
  emptyText: 'No operators. To add one: animal-store operators create NAME --role admin',
  columns: [
    ...(['id', 'name', 'role'] as const),
    ['TOKEN', ({ lastFour }) => `…${lastFour}`],
    'createdAt',
    ['STATE', ({ revokedAt }) => (revokedAt === null ? 'live' : 'revoked')],
  ],
});

define(Pet, {
  emptyText: 'No animals.',
  columns: ['id', 'status', 'categoryId', 'name'],
  text: ({ id, name, categoryId, status }) =>
    `Animal ${id} (${escapeUnprintable(name)}), category ${categoryId}: ${status}.`,
});

define(Inventory, {
  text: (inventory) =>
    formatTable(
      ['STATUS', 'ANIMALS'],
      Object.entries(inventory).map(([status, animals]) => [status, formatInteger(animals)]),
    ),
});

define(Order, {
  emptyText: 'No orders.',
  columns: ['id', 'petId', 'status', ['PLACED', 'createdAt'], ['CHANGED', 'updatedAt'], 'reference'],
  text: ({ id, petId, status, reference, createdAt, updatedAt }) => {
    const named = reference === undefined ? '' : ` (${escapeUnprintable(reference)})`;
    const changed = updatedAt === createdAt ? '' : `, changed ${formatIsoTime(updatedAt)}`;
    return `Order ${id}${named} for animal ${petId}: ${status}. Placed ${formatIsoTime(createdAt)}${changed}.`;
  },
});

define(Category, {
  emptyText: 'No categories.',
  text: ({ id, name }) => `Category ${id}: ${escapeUnprintable(name)}.`,
});

const webhookState = ({ enabled }: { readonly enabled: boolean }) => (enabled ? 'enabled' : 'disabled');

define(AccountWebhook, {
  emptyText: 'No webhooks.',
  columns: [
    ...(['id', 'accountId', 'accountName', 'url'] as const),
    ['TYPES', ({ types }) => types.join(',')],
    ['STATE', webhookState],
    ['REASON', ({ disabledReason, onHoldReason }) => disabledReason ?? onHoldReason ?? ''],
  ],
  text: (webhook) => {
    const { id, accountId, accountName, url, types, description, createdAt } = webhook;
    const about = description === undefined ? '' : ` (${escapeUnprintable(description)})`;
    const why = webhook.disabledReason ?? webhook.onHoldReason;
    const reason = why === undefined ? '' : ` Reason: ${escapeUnprintable(why)}`;
    return [
      `Webhook ${id}${about} of account ${accountId} (${escapeUnprintable(accountName)}): ${webhookState(webhook)}${webhook.onHoldReason === undefined ? '' : ', on hold'}.${reason}`,
      `Sends ${types.join(', ')} to ${escapeUnprintable(url)}. Created ${formatIsoTime(createdAt)}.`,
    ].join('\n');
  },
});

define(Delivery, {
  emptyText: 'No deliveries.',
  columns: [
    ...(['id', 'eventId', 'type', 'status'] as const),
    ['ATTEMPTS', ({ attempts }) => formatInteger(attempts.length)],
    ['LAST', ({ attempts }) => String(attempts.at(-1)?.status ?? attempts.at(-1)?.error ?? '')],
    ['NEXT', 'nextAttemptAt'],
  ],
});

define(AuditEntry, {
  emptyText: 'No entries.',
  columns: [
    ...(['id', 'at', 'actor', 'operation', 'object'] as const),
    [
      'CHANGE',
      ({ operation, before, after }) =>
        operation === 'importPets' ? formatImport(after as Imported | null) : formatChange(before, after),
    ],
  ],
});

interface Imported {
  readonly file?: string;
  readonly added?: bigint;
  readonly rejected?: bigint;
}

function formatImport(imported: Imported | null): string {
  const { file, added = 0n, rejected = 0n } = imported ?? {};
  const counts = `${formatInteger(added)} added, ${formatInteger(rejected)} rejected`;
  return file === undefined ? counts : `${file}: ${counts}`;
}

/** Describes each changed member. Empty for created and deleted objects. */
function formatChange(before: unknown, after: unknown): string {
  if (before === null || after === null) return '';
  const [old, now] = [before, after] as [Record<string, unknown>, Record<string, unknown>];
  const text = (value: unknown) => (value === undefined ? '""' : formatValue(value));
  return Object.keys({ ...old, ...now })
    .filter((name) => text(old[name]) !== text(now[name]))
    .map((name) => `${name}: ${text(old[name])} → ${text(now[name])}`)
    .join(', ');
}

const outcomes = [
  ['OK', 'ok'],
  ['4XX', 'refused'],
  ['429', 'limited'],
  ['5XX', 'failed'],
] as const;

define(SearchResults, { text: formatSearchResults });

define(KeyUsage, {
  emptyText: 'No requests.',
  columns: [...keyAndAccount, ...outcomes, 'deprecated', 'lastUsedAt'],
});

define(UsagePeriod, { emptyText: 'No requests.', columns: [['FROM', 'from'], ...outcomes] });

const formatCodes = ({ codes }: { readonly codes: Readonly<Record<string, bigint>> }) =>
  Object.entries(codes)
    .map(([code, requests]) => `${code} ${formatInteger(requests)}`)
    .join(', ');

define(MinuteUsage, {
  emptyText: 'No requests.',
  columns: ['minute', 'operation', ['REQUESTS', formatCodes]],
});

define(OperationUsage, { emptyText: 'No requests.', columns: ['operation', ['REQUESTS', formatCodes]] });

const formatMicroseconds = (value: bigint | null) => (value === null ? '' : `${formatInteger(value)} µs`);

define(TrafficInterval, {
  emptyText: 'No requests.',
  columns: [
    ['FROM', 'from'],
    ...outcomes,
    ['P50', ({ p50 }) => formatMicroseconds(p50)],
    ['P95', ({ p95 }) => formatMicroseconds(p95)],
    ['P99', ({ p99 }) => formatMicroseconds(p99)],
  ],
});

interface FoundObject {
  readonly kind: string;
  readonly id: bigint | null;
  readonly name: string | null;
  readonly state: string | null;
  readonly lastFour: string | null;
  readonly accountId: bigint | null;
}

function formatSearchResults({ results }: { readonly results: readonly FoundObject[] }): string {
  if (results.length === 0) return 'Nothing was found.';
  return formatTable(
    ['KIND', 'ID', 'NAME', 'KEY', 'STATE', 'ACCOUNT'],
    results.map(({ kind, id, name, state, lastFour, accountId }) => [
      kind,
      id === null ? '' : String(id),
      escapeUnprintable(name ?? ''),
      lastFour === null ? '' : `…${lastFour}`,
      state ?? '',
      accountId === null ? '' : String(accountId),
    ]),
  );
}
