import { type Account, type accounts, foldCase } from '../../../tables/accounts.ts';
import type { SqlValue } from '../../../tables/table.ts';
import type { AccountFilter, AccountPosition, AccountStore } from '../../storage.ts';
import { PostgresEntity } from './entity.ts';

export class PostgresAccounts extends PostgresEntity<typeof accounts> implements AccountStore {
  /** Orders by every column of an index, as `list` does, so that the planner uses this index. */
  search(
    after: AccountPosition | undefined,
    limit: number,
    { name, isClosed }: AccountFilter,
  ): Promise<Account[]> {
    const prefix = name === undefined ? undefined : foldCase(name);
    const values: SqlValue[] = [limit, after?.id ?? 0];
    const place = (value: SqlValue, type: string) => `$${values.push(value)}::${type}`;
    const index: string[] = [];
    const begin: string[] = [];
    const belongs: string[] = ['true'];
    if (isClosed !== undefined) {
      const isOpen = place(!isClosed, 'boolean');
      index.push('(closed_at IS NULL)');
      begin.push(isOpen);
      belongs.push(`(closed_at IS NULL) = ${isOpen}`);
    }
    if (prefix !== undefined) {
      index.push('name_folded');
      begin.push(place(after === undefined ? prefix : foldCase(after.name), 'text'));
      belongs.push(`starts_with(name_folded, ${place(prefix, 'text')})`);
    }
    const order = [...index, 'id'];
    const page = `SELECT * FROM accounts WHERE (${order}) > (${[...begin, '$2::bigint']}) ORDER BY ${order} LIMIT $1`;
    const text = `${this.texts.select.replace('FROM accounts', `FROM (${page}) AS page`)} WHERE ${belongs.join(' AND ')}`;
    return this.rows(text, ...values);
  }
}
