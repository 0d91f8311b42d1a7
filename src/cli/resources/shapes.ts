/** Text output for each type of object in the contract: the columns of a table, and the text for a single object. */

import type * as z from 'zod';
import { Account, AccountLimits } from '../../contract/admin/accounts.ts';
import { AuditEntry } from '../../contract/admin/audit.ts';
import { Ban } from '../../contract/admin/bans.ts';
import { BanStatus, FoundKey, Key } from '../../contract/admin/keys.ts';
import { Operator } from '../../contract/admin/operators.ts';
import { SearchResults } from '../../contract/admin/search.ts';
import {
  KeyUsage,
  MinuteUsage,
  OperationUsage,
  TrafficStep,
  UsagePeriod,
} from '../../contract/admin/usage.ts';
import { AccountWebhook } from '../../contract/admin/webhooks.ts';
import { Category } from '../../contract/categories.ts';
import { Delivery } from '../../contract/deliveries.ts';
import { Order } from '../../contract/orders.ts';
import { Inventory, Pet } from '../../contract/pets.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { scopes as allScopes } from '../../domain/scope.ts';
import { counted, grouped, instant, table } from '../terminal.ts';
import { itemSchema, schemaMeta } from './input-fields.ts';

/** A value as parsed from JSON, with exact integers. */
export type Exact<Value> = Value extends number | bigint
  ? bigint
  : Value extends readonly (infer Item)[]
    ? readonly Exact<Item>[]
    : Value extends object
      ? { readonly [Name in keyof Value]: Exact<Value[Name]> }
      : Value;

type ShapeOf<Schema extends z.ZodType> = Exact<z.infer<Schema>>;

type MemberOf<Item> = keyof Item & string;

/**
 * A table column: either the name of a member, from which the title is derived, or a title followed by the member or
 * function that provides the cells.
 */
type Column<Item> =
  | MemberOf<Item>
  | readonly [title: string, cell: MemberOf<Item> | ((item: Item) => string)];

interface Shape<Item> {
  /** Defaults to all members. */
  readonly columns?: readonly Column<Item>[];
  readonly none?: string;
  /** Formats a single object. Defaults to a table with one row. */
  readonly text?: (item: Item) => string;
}

const shapes = new Map<z.ZodType, Shape<never>>();

function define<Schema extends z.ZodType>(schema: Schema, shape: Shape<ShapeOf<Schema>>): void {
  shapes.set(schema, shape);
}

const formatTime = (iso: string) => instant(Date.parse(iso));

export function tableOf(schema: z.ZodType | undefined) {
  const item = itemSchema(schema);
  const { columns = Object.keys(item.shape), none = 'None.' } = (shapes.get(item) ?? {}) as Shape<Cells>;
  const named = columns.map((column) =>
    typeof column === 'string' ? ([titleOf(column), column] as const) : column,
  );
  const cells = named.map(([, cell]) => (typeof cell === 'string' ? memberText(item, cell) : cell));
  return {
    header: named.map(([title]) => title),
    row: (one: object) => cells.map((cell) => cell(one as Cells)),
    none,
  };
}

export function textOf(schema: z.ZodType | undefined, item: unknown): string {
  const { text } = shapes.get(itemSchema(schema)) ?? {};
  if (text !== undefined) return text(item as never);
  const { header, row } = tableOf(schema);
  return table(header, [row(item as object)]);
}

type Cells = Readonly<Record<string, unknown>>;

/** Returns a column title: `CATEGORY` for `categoryId`, `LAST USED` for `lastUsedAt`. */
function titleOf(name: string): string {
  return name
    .replace(/(?<=.)(?:Id|At)$/, '')
    .replace(/[A-Z]/g, ' $&')
    .toUpperCase();
}

/** Returns a formatter for a member's cells: times to the second, counts with thousands separators. */
function memberText({ shape }: z.ZodObject, name: string): (item: Cells) => string {
  const { override } = shape[name] === undefined ? {} : schemaMeta(shape[name] as z.ZodType);
  return ({ [name]: value }) => {
    if (value === null || value === undefined) return '';
    if (override?.format === 'date-time') return formatTime(String(value));
    if (typeof value === 'bigint') return override?.minimum === 0 ? grouped(value) : String(value);
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
}

const timeOrNever = (iso: string | null) => (iso === null ? 'never' : formatTime(iso));

define(Account, {
  none: 'No accounts.',
  columns: [
    ...(['id', 'name', 'plan', 'perMinute', 'perDay', 'createdAt'] as const),
    ['STATE', ({ closedAt }) => (closedAt === null ? 'open' : 'closed')],
  ],
  text: ({ id, name, plan, perMinute, perDay, closedAt, note }) => {
    const closed = closedAt === null ? '' : ` Closed since ${formatTime(closedAt)}.`;
    return `Account ${id} (${escapeUnprintable(name)}), plan ${plan}: ${counted(perMinute, 'request')} per minute, ${grouped(perDay)} per day.${closed}${note === null ? '' : `\n${escapeUnprintable(note, '\n')}`}`;
  },
});

define(AccountLimits, {
  text: ({ minute, day }) =>
    table(
      ['WINDOW', 'USED', 'LIMIT', 'RESETS'],
      Object.entries({ minute, day }).map(([name, { used, limit, resetAt }]) => [
        name,
        grouped(used),
        grouped(limit),
        resetAt === null ? '' : formatTime(resetAt),
      ]),
    ),
});

const scopesText = ({ scopes }: Pick<ShapeOf<typeof Key>, 'scopes'>) =>
  scopes.length === allScopes.length ? 'all' : scopes.join(',');

define(Key, {
  none: 'No keys.',
  columns: [
    ...(['id', 'accountId', 'name'] as const),
    ['KEY', ({ lastFour }) => `…${lastFour}`],
    'createdAt',
    ['EXPIRES', ({ expiresAt }) => timeOrNever(expiresAt)],
    'state',
    ['LAST USED', ({ lastUsedAt }) => timeOrNever(lastUsedAt)],
    ['TODAY', 'requestsToday'],
    ['SCOPES', scopesText],
  ],
  text: keyText,
});

define(FoundKey, {
  text: (key) => keyText(key, key.predecessorId === null ? '' : ` It replaced key ${key.predecessorId}.`),
});

function keyText(key: ShapeOf<typeof Key>, predecessor = ''): string {
  const { id, accountId, name, lastFour, state, createdAt, expiresAt, successorId } = key;
  const expiry = expiresAt === null ? 'never expires' : `expires ${formatTime(expiresAt)}`;
  const successor = successorId === null ? '' : ` Replaced by key ${successorId}.`;
  return [
    `Key ${id} (${escapeUnprintable(name)}) …${lastFour} of account ${accountId}: ${state}.${successor}${predecessor}`,
    `Created ${formatTime(createdAt)}, ${expiry}. Scopes: ${scopesText(key)}.`,
    `Last used: ${timeOrNever(key.lastUsedAt)}. Requests today (UTC): ${grouped(key.requestsToday)}.`,
  ].join('\n');
}

const keyAndAccount = ['keyId', ['NAME', 'keyName'], 'accountId', 'accountName'] as const;

define(Ban, {
  none: 'No keys are banned.',
  columns: [...keyAndAccount, ['SINCE', 'bannedFrom'], ['UNTIL', 'bannedUntil'], 'level', 'reason'],
});

define(BanStatus, {
  text: ({ strikes, strikesToBan, withinSeconds, bans, lastBan, nextBanSeconds }) => {
    const last =
      lastBan === null
        ? 'No ban'
        : `${counted(bans, 'consecutive ban')}, the last from ${formatTime(lastBan.from)} until ${formatTime(lastBan.until)}`;
    return [
      `${counted(strikes, 'strike')} in the last ${counted(withinSeconds, 'second')}; the key is banned at ${grouped(strikesToBan)}.`,
      `${last}. The next ban lasts ${counted(nextBanSeconds, 'second')}.`,
    ].join('\n');
  },
});

define(Operator, {
  none: 'No operators. To add one: animal-store operators create NAME --role admin',
  columns: [
    ...(['id', 'name', 'role'] as const),
    ['TOKEN', ({ lastFour }) => `…${lastFour}`],
    'createdAt',
    ['STATE', ({ revokedAt }) => (revokedAt === null ? 'live' : 'revoked')],
  ],
});

define(Pet, {
  none: 'No animals.',
  columns: ['id', 'status', 'categoryId', 'name'],
  text: ({ id, name, categoryId, status }) =>
    `Animal ${id} (${escapeUnprintable(name)}), category ${categoryId}: ${status}.`,
});

define(Inventory, {
  text: (inventory) =>
    table(
      ['STATUS', 'ANIMALS'],
      Object.entries(inventory).map(([status, animals]) => [status, grouped(animals)]),
    ),
});

define(Order, {
  none: 'No orders.',
  columns: [
    'id',
    ['ANIMAL', 'petId'],
    'status',
    ['PLACED', 'createdAt'],
    ['CHANGED', 'updatedAt'],
    'reference',
  ],
  text: ({ id, petId, status, reference, createdAt, updatedAt }) => {
    const named = reference === undefined ? '' : ` (${escapeUnprintable(reference)})`;
    const changed = updatedAt === createdAt ? '' : `, changed ${formatTime(updatedAt)}`;
    return `Order ${id}${named} for animal ${petId}: ${status}. Placed ${formatTime(createdAt)}${changed}.`;
  },
});

define(Category, {
  none: 'No categories.',
  text: ({ id, name }) => `Category ${id}: ${escapeUnprintable(name)}.`,
});

const webhookState = ({ enabled }: { readonly enabled: boolean }) => (enabled ? 'enabled' : 'disabled');

define(AccountWebhook, {
  none: 'No webhooks.',
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
      `Sends ${types.join(', ')} to ${escapeUnprintable(url)}. Created ${formatTime(createdAt)}.`,
    ].join('\n');
  },
});

define(Delivery, {
  none: 'No deliveries.',
  columns: [
    ...(['id', 'eventId', 'type', 'status'] as const),
    ['ATTEMPTS', ({ attempts }) => grouped(attempts.length)],
    ['LAST', ({ attempts }) => String(attempts.at(-1)?.status ?? attempts.at(-1)?.error ?? '')],
    ['NEXT', 'nextAttemptAt'],
  ],
});

define(AuditEntry, {
  none: 'No entries.',
  columns: [
    ...(['id', 'at', 'actor', 'operation', 'object'] as const),
    [
      'CHANGE',
      ({ operation, before, after }) =>
        operation === 'importPets' ? importText(after as Imported | null) : changeText(before, after),
    ],
  ],
});

interface Imported {
  readonly file?: string;
  readonly added?: bigint;
  readonly rejected?: bigint;
}

function importText(imported: Imported | null): string {
  const { file, added = 0n, rejected = 0n } = imported ?? {};
  const counts = `${grouped(added)} added, ${grouped(rejected)} rejected`;
  return file === undefined ? counts : `${file}: ${counts}`;
}

/** Describes each changed member. Empty for created and deleted objects. */
function changeText(before: unknown, after: unknown): string {
  if (before === null || after === null) return '';
  const [old, now] = [before, after] as [Record<string, unknown>, Record<string, unknown>];
  const text = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
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

define(SearchResults, { text: searchText });

define(KeyUsage, {
  none: 'No requests.',
  columns: [...keyAndAccount, ...outcomes, 'deprecated', 'lastUsedAt'],
});

define(UsagePeriod, { none: 'No requests.', columns: [['FROM', 'from'], ...outcomes] });

const codesText = ({ codes }: { readonly codes: Readonly<Record<string, bigint>> }) =>
  Object.entries(codes)
    .map(([code, requests]) => `${code} ${grouped(requests)}`)
    .join(', ');

define(MinuteUsage, { none: 'No requests.', columns: ['minute', 'operation', ['REQUESTS', codesText]] });

define(OperationUsage, { none: 'No requests.', columns: ['operation', ['REQUESTS', codesText]] });

const micros = (value: bigint | null) => (value === null ? '' : `${grouped(value)} µs`);

define(TrafficStep, {
  none: 'No requests.',
  columns: [
    ['FROM', 'from'],
    ...outcomes,
    ['P50', ({ p50 }) => micros(p50)],
    ['P95', ({ p95 }) => micros(p95)],
    ['P99', ({ p99 }) => micros(p99)],
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

function searchText({ results }: { readonly results: readonly FoundObject[] }): string {
  if (results.length === 0) return 'Nothing was found.';
  return table(
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
