import type { SearchedTable } from './admin.ts';

/** The column that a search examines in each table. */
export const searchedNames: Readonly<Record<SearchedTable, string>> = {
  accounts: 'name_folded',
  keys: 'name',
  pets: 'name',
};
