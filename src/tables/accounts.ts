import { type PlanName, planNames, type Quota, resolveQuota } from '../domain/plan.ts';
import { formatScopes, parseScopes, type Scope } from '../domain/scope.ts';
import {
  integer,
  type NoFilters,
  nullable,
  oneOf,
  secret,
  type Table,
  table,
  text,
  textColumn,
  withShape,
} from './table.ts';

export interface Account {
  readonly id: number;
  readonly name: string;
  readonly plan: PlanName;
  readonly quota: Quota;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms; `null` while the account is open. The keys of a closed account are not accepted. */
  readonly closedAt: number | null;
  /** Operators' note, not visible to clients. */
  readonly note: string | null;
}

export type NewAccount = Omit<Account, 'id' | 'closedAt' | 'note'>;

export interface Key {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly lastFour: string;
  /** In the order of `scopes`, without duplicates. */
  readonly scopes: readonly Scope[];
  /** Unix ms; `null` if the key never expires. */
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly successorId: number | null;
}

/** `fingerprint` is the SHA-256 of the key. */
export type NewKey = Omit<Key, 'id' | 'revokedAt' | 'successorId'> & { readonly fingerprint: string };

/** The plan and its custom quota, which is `null` unless the plan is `enterprise`. */
interface StoredQuota {
  readonly plan: PlanName;
  readonly perMinute: number | null;
  readonly perDay: number | null;
}

export function toQuota({ plan, perMinute, perDay }: StoredQuota): Quota {
  return perMinute === null || perDay === null ? resolveQuota(plan).quota : { perMinute, perDay };
}

/** The form of a name used for searching and sorting: normalized and lowercase. */
export function foldCase(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}

export const accounts: Table<Account, NewAccount & Partial<Account>, NoFilters> = withShape(
  table(
    'accounts',
    {
      id: integer,
      name: text,
      nameFolded: secret(text),
      plan: oneOf<PlanName>(planNames),
      perMinute: nullable(integer),
      perDay: nullable(integer),
      createdAt: integer,
      closedAt: nullable(integer),
      note: nullable(text),
    },
    { isCounted: true, resource: 'callers', unversionedInsert: 'an account without keys is not a caller' },
  ),
  {
    // Rows found by a search also contain the folded name, which is dropped here.
    read: ({ id, name, plan, perMinute, perDay, createdAt, closedAt, note }) => {
      return { id, name, plan, quota: toQuota({ plan, perMinute, perDay }), createdAt, closedAt, note };
    },
    write: ({ quota, ...account }: Partial<Account>) => ({
      ...account,
      ...(account.name !== undefined && { nameFolded: foldCase(account.name) }),
      ...(account.plan !== undefined && toStoredQuota(account.plan, quota)),
    }),
  },
);

function toStoredQuota(plan: PlanName, quota: Quota | undefined) {
  return plan === 'enterprise' ? quota : { perMinute: null, perDay: null };
}

export const keys: Table<Key, NewKey & Partial<Key>, { readonly accountId?: number | undefined }> = table(
  'keys',
  {
    id: integer,
    accountId: integer,
    name: text,
    fingerprint: secret(text),
    lastFour: text,
    scopes: textColumn<readonly Scope[]>(parseScopes, formatScopes),
    createdAt: integer,
    expiresAt: nullable(integer),
    revokedAt: nullable(integer),
    successorId: nullable(integer),
  },
  {
    isCounted: true,
    indexes: [['accountId']],
    filters: ['accountId'],
    lookups: { successor: { by: ['successorId'] } },
    references: { accountId: 'accounts' },
    resource: 'callers',
  },
);
