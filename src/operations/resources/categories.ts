import type { categoryOperations } from '../../contract/categories.ts';
import { int64Min } from '../../contract/json.ts';
import { categoryJson } from '../../contract/representations.ts';
import { andThen } from '../../domain/awaitable.ts';
import { defineSubject } from '../changes/audited-unit.ts';
import { checkPreconditions } from '../changes/preconditions.ts';
import { expectFound } from '../errors.ts';
import { readPage } from './pages.ts';
import type { OperationReaders, OperationUnits } from './rows.ts';

export const categoryReaders = {
  listCategories: ({ categories }, { query }) =>
    readPage(query, {
      path: '/categories',
      minId: int64Min,
      read: (after, limit, filter) => categories.list(after, limit, filter),
    }),
  getCategory: ({ categories }, { params }) =>
    andThen(categories.find(params.categoryId), (category) => expectFound(category, 'category_not_found')),
} satisfies OperationReaders<typeof categoryOperations>;

const category = defineSubject('category', ({ categories }, id) => categories.find(BigInt(id)), categoryJson);

export const categoryUnits = {
  putCategory: {
    writes: ['categories'],
    subject: category.byParam('categoryId'),
    run: async ({ categories, events }, { params, body, preconditions, now }) => {
      const before = await categories.find(params.categoryId);
      checkPreconditions(preconditions, before && categoryJson(before));
      const after = { id: params.categoryId, name: body.name };
      if (before?.name !== after.name) {
        await categories.put(after);
        const type = before === undefined ? 'category.created' : 'category.updated';
        events.add({ type, data: categoryJson(after), createdAt: now });
      }
      return { category: after, isNew: before === undefined };
    },
  },
  deleteCategory: {
    writes: ['categories'],
    subject: category.byParam('categoryId'),
    run: async ({ categories, events }, { params, preconditions, now }) => {
      const before = expectFound(await categories.find(params.categoryId), 'category_not_found');
      checkPreconditions(preconditions, categoryJson(before));
      await categories.remove(before.id);
      events.add({ type: 'category.deleted', data: categoryJson(before), createdAt: now });
    },
  },
} as const satisfies OperationUnits<typeof categoryOperations>;
