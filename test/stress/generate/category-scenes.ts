import { same } from '../failures.ts';
import { anyName, jsonString } from './names.ts';
import type { Stage } from './stage.ts';

interface Put {
  readonly id: bigint;
  readonly text: string;
  readonly etag: string;
}

/** A category whose id no other scene has. */
async function put(stage: Stage): Promise<Put> {
  const { chance } = stage;
  const [id, name] = [chance.bits64(), anyName(chance)];
  const { text, headers } = await stage.call('putCategory', 201, {
    params: { categoryId: id },
    members: [['name', jsonString(name, chance)]],
    headers: chance.often(0.5) ? [['If-None-Match', '*']] : [],
  });
  same('the new category', text, `{"id":${id},"name":${JSON.stringify(name)}}`);
  return { id, text, etag: headers.get('etag') ?? '' };
}

export async function putCategory(stage: Stage): Promise<void> {
  const { chance } = stage;
  const { id, etag } = await put(stage);
  const name = anyName(chance);
  const members = [['name', jsonString(name, chance)]] as const;
  const params = { categoryId: id };
  const headers = stage.condition(etag) ?? [];
  const { text } = await stage.call('putCategory', 200, { params, members, headers });
  same('the renamed category', text, `{"id":${id},"name":${JSON.stringify(name)}}`);
  await stage.call('putCategory', 412, { params, members, headers: [['If-None-Match', '*']] });
}

export async function getCategory(stage: Stage): Promise<void> {
  const { id, text } = await put(stage);
  await stage.read('getCategory', text, { params: { categoryId: id } });
}

export async function listCategories(stage: Stage): Promise<void> {
  await put(stage);
  const limit = stage.chance.int(1, 100);
  const { text } = await stage.call('listCategories', 200, { query: [['limit', String(limit)]] });
  const ids = [...text.matchAll(/"id":(-?\d+),"name":/g)].map(([, id]) => BigInt(id ?? 0));
  if (ids.length === 0 || ids.length > limit) throw new Error(`${ids.length} categories of ${limit}`);
  const ascending = ids.toSorted((a, b) => (a < b ? -1 : 1));
  same('the order of categories', ids.join(), ascending.join());
}

export async function deleteCategory(stage: Stage): Promise<void> {
  const { id, etag } = await put(stage);
  const params = { categoryId: id };
  await stage.call('deleteCategory', 204, { params, headers: stage.condition(etag) ?? [] });
  await stage.call(stage.chance.pick(['deleteCategory', 'getCategory'] as const), 404, { params });
}
