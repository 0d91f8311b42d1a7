import type { Database, Statement } from 'bun:sqlite';
import { type Account, accounts, foldCase } from '../../../tables/accounts.ts';
import type { SqlValue } from '../../../tables/table.ts';
import type { AccountFilter, AccountPosition, AccountStore } from '../../storage.ts';
import { type RunRead, SqliteEntity } from './entity.ts';

const isOpen = '(closed_at IS NULL)';

/** Sorts after every name with this prefix, because no name contains the last code point, which is a noncharacter. */
const endOf = (prefix: string) => `${prefix}\u{10ffff}`;

type List = Statement<unknown, SqlValue[]>;

export class SqliteAccounts extends SqliteEntity<typeof accounts> implements AccountStore {
  readonly #byState: List;
  readonly #byName: List;
  readonly #byBoth: List;

  constructor(database: Database, read: RunRead) {
    super(database, accounts, { read });
    /**
     * A page sorted by name: first the remaining accounts that have the same name as the last account of the previous
     * page, then accounts with later names.
     */
    const page = (condition: string) => `
      ${this.select.replace(' FROM', ', name_folded FROM')} WHERE ${condition} name_folded = ?1 AND id > ?2
      UNION ALL
      ${this.select.replace(' FROM', ', name_folded FROM')} WHERE ${condition} name_folded > ?1 AND name_folded < ?3
      ORDER BY name_folded, id LIMIT ?4`;
    this.#byState = this.prepare(`${this.select} WHERE ${isOpen} = ? AND id > ? ORDER BY id LIMIT ?`);
    this.#byName = this.prepare(page(''));
    this.#byBoth = this.prepare(page(`${isOpen} = ?5 AND`));
  }

  search(after: AccountPosition | undefined, limit: number, { name, isClosed }: AccountFilter): Account[] {
    const id = after?.id ?? 0;
    if (name === undefined) {
      return isClosed === undefined ? this.list(id, limit) : this.rows(this.#byState, !isClosed, id, limit);
    }
    const prefix = foldCase(name);
    const range = [after === undefined ? prefix : foldCase(after.name), id, endOf(prefix), limit];
    return isClosed === undefined
      ? this.rows(this.#byName, ...range)
      : this.rows(this.#byBoth, ...range, !isClosed);
  }
}
