import { type PlanName, planNames, type Quota, resolveQuota } from '../domain/plan.ts';
import { formatScopes, parseScopes, type Scope } from '../domain/scope.ts';
import {
  integer,
  type NewRowOf,
  type NoFilters,
  nullable,
  oneOf,
  type RowOf,
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

export const keys = table(
  'keys',
  {
    id: integer,
    accountId: integer,
    name: text,
    /** SHA-256 of the key. */
    fingerprint: secret(text),
    lastFour: text,
    /** In the order of `scopes`, without duplicates. */
    scopes: textColumn<readonly Scope[]>(parseScopes, formatScopes),
    /** Unix ms. */
    createdAt: integer,
    /** Unix ms; `null` if the key never expires. */
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

export type Key = RowOf<typeof keys>;
/** The expiry time is required, so that no key is valid forever by mistake. */
export type NewKey = NewRowOf<typeof keys> & Pick<Key, 'expiresAt'>;
