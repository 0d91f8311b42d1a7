import { int64, table, text } from './table.ts';

/** Category names. Clients choose the ids. */
export const categories = table('categories', { id: int64, name: text }, { resource: 'categories' });
