import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { type Category, categoryJson } from '../contract/categories.ts';
import { printable } from '../domain/printable.ts';
import { writeAs } from '../operations/by-operator.ts';
import { categoryReaders } from '../operations/categories.ts';
import { type Listing, type ListOptions, printList } from './pages.ts';
import { say, sayJsonText } from './terminal.ts';
import { unconditional } from './unit.ts';

const listing: Listing<Category> = {
  path: '/categories',
  none: 'No categories.',
  header: ['ID', 'NAME'],
  row: ({ id, name }) => [String(id), name],
  json: categoryJson,
};

export async function listCategories(config: Config, options: ListOptions): Promise<void> {
  await using admin = await openAdminServices(config);
  await printList({}, options, listing, (query) =>
    categoryReaders.listCategories(admin.storage, { params: {}, query, body: undefined }),
  );
}

export async function showCategory(
  config: Config,
  categoryId: bigint,
  { json }: { json?: true },
): Promise<void> {
  await using admin = await openAdminServices(config);
  const input = { params: { categoryId }, query: undefined, body: undefined };
  report(await categoryReaders.getCategory(admin.storage, input), json);
}

export async function setCategory(
  config: Config,
  categoryId: bigint,
  name: string,
  { json }: { json?: true },
): Promise<void> {
  await using admin = await openAdminServices(config);
  const unit = { params: { categoryId }, body: { name }, ...unconditional() };
  const { category } = await writeAs(admin, 'putCategory', unit);
  report(category, json);
}

export async function removeCategory(
  config: Config,
  categoryId: bigint,
  { json }: { json?: true },
): Promise<void> {
  await using admin = await openAdminServices(config);
  const unit = { params: { categoryId }, ...unconditional() };
  await writeAs(admin, 'deleteCategory', unit);
  if (json) return sayJsonText(`{"id":${categoryId},"removed":true}`);
  say(`Removed the name of category ${categoryId}. Its animals keep their category.`);
}

function report(category: Category, json: true | undefined): void {
  if (json) sayJsonText(categoryJson(category));
  else say(`Category ${category.id}: ${printable(category.name)}.`);
}
