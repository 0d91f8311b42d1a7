import { anyName, jsonString } from '../generate/json-text.ts';
import { listRequest } from './lists.ts';
import { bodyOf, type Request } from './request.ts';
import { deleteCategory, putCategory } from './rules.ts';
import { categoryIdIn, type Making } from './scene.ts';
import { categoryText, type World } from './world.ts';

/** All clients' categories are in one list. */
export function listCategories(making: Making): Request {
  const { scene } = making;
  return listRequest(making, {
    operationId: 'listCategories',
    path: '/categories',
    filters: {},
    ownBy: [],
    things: ({ categories }) =>
      scene.isShared ? [] : categories.entries().map(([id, name]) => ({ id, name })),
    isMine: (id) => !scene.isShared && scene.categories.includes(id),
    textOf: ({ id, name }) => categoryText([id, name]),
  });
}

export function getCategory(making: Making): Request {
  const id = categoryIdIn(making);
  return {
    operationId: 'getCategory',
    method: 'GET',
    target: `/categories/${id}`,
    act: ({ world }) => {
      const name = world.categories.get(id);
      if (name !== undefined) return { status: 200, text: categoryText([id, name]) };
      return { status: 404, error: { code: 'category_not_found' } };
    },
  };
}

export function putCategoryRequest(making: Making): Request {
  const { chance, scene } = making;
  const id = categoryIdIn(making);
  const name = anyName(chance);
  return {
    operationId: 'putCategory',
    method: 'PUT',
    target: `/categories/${id}`,
    ...bodyOf(chance, [['name', jsonString(name, chance)]]),
    ...currentOf(scene.world, id),
    ...(chance.often(0.2) && { isNew: true }),
    act: (turn) => putCategory(turn, id, name),
  };
}

export function deleteCategoryRequest(making: Making): Request {
  const id = categoryIdIn(making);
  return {
    operationId: 'deleteCategory',
    method: 'DELETE',
    target: `/categories/${id}`,
    ...currentOf(making.scene.world, id),
    act: (turn) => deleteCategory(turn, id),
  };
}

function currentOf({ categories }: World, id: bigint): { current?: string } {
  const name = categories.get(id);
  return name === undefined ? {} : { current: categoryText([id, name]) };
}
