import { int64, table, text } from './table.ts';

/** Names that clients give to categories, under ids of their choice. */
export const categories = table('categories', { id: int64, name: text }, { resource: 'categories' });
