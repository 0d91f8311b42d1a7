import type { SearchedTable } from './admin.ts';

/** The column of each table that a search examines. */
export const searchedNames: Readonly<Record<SearchedTable, string>> = {
  accounts: 'name_folded',
  keys: 'name',
  pets: 'name',
};
