import { anyName, jsonString } from '../../generate/json-text.ts';
import { listRequest } from '../lists.ts';
import { bodyOf, type Request } from '../request.ts';
import { currentOf, getRequest, type Resource } from '../resource.ts';
import { categoryIdIn, type RequestInputs } from '../scene.ts';
import { ascending, changed, type Kind, type Outcome, refusal, type Turn } from '../world.ts';

interface Category {
  readonly id: bigint;
  readonly name: string;
}

function categoryText({ id, name }: Category): string {
  return `{"id":${id},"name":${JSON.stringify(name)}}`;
}

const kind: Kind<Category> = { name: 'categories', textOf: categoryText };

export function putCategory({ world, meets }: Turn, id: bigint, name: string): Outcome {
  const before = world.all(kind).get(id);
  if (!meets(before && categoryText(before))) return changed;
  world.all(kind).set(id, { id, name });
  if (before?.name !== name) {
    const type = before === undefined ? 'category.created' : 'category.updated';
    world.record(type, categoryText({ id, name }));
  }
  return { status: before === undefined ? 201 : 200, text: categoryText({ id, name }) };
}

function deleteCategory({ world, meets }: Turn, id: bigint): Outcome {
  const before = world.all(kind).get(id);
  if (before === undefined) return refusal(404, 'category_not_found');
  if (!meets(categoryText(before))) return changed;
  world.remove(kind, id);
  world.record('category.deleted', categoryText(before));
  return { status: 204, text: '' };
}

/** The list contains the categories of all clients. */
function listCategories(inputs: RequestInputs): Request {
  const { scene } = inputs;
  return listRequest(inputs, {
    operationId: 'listCategories',
    path: '/categories',
    filters: {},
    ownBy: [],
    things: (world) => (scene.isShared ? [] : world.all(kind).values()),
    isMine: (id) => !scene.isShared && scene.categories.includes(id),
    textOf: categoryText,
  });
}

const getCategory = (id: bigint) =>
  getRequest('getCategory', kind, ['/categories', id], 'category_not_found');

function putRequest(inputs: RequestInputs): Request {
  const { chance, scene } = inputs;
  const id = categoryIdIn(inputs);
  const name = anyName(chance);
  return {
    operationId: 'putCategory',
    method: 'PUT',
    target: `/categories/${id}`,
    ...bodyOf(chance, [['name', jsonString(name, chance)]]),
    ...currentOf(scene, kind, id),
    ...(chance.often(0.2) && { isNew: true }),
    act: (turn) => putCategory(turn, id, name),
  };
}

function deleteRequest(inputs: RequestInputs): Request {
  const id = categoryIdIn(inputs);
  return {
    operationId: 'deleteCategory',
    method: 'DELETE',
    target: `/categories/${id}`,
    ...currentOf(inputs.scene, kind, id),
    act: (turn) => deleteCategory(turn, id),
  };
}

export const categories: Resource = {
  kind,
  places: {
    listCategories,
    getCategory: (inputs) => getCategory(categoryIdIn(inputs)),
    putCategory: putRequest,
    deleteCategory: deleteRequest,
  },
  lists: (world) => [['/categories', ascending(world.all(kind).values()).map(categoryText)]],
  endReads: ({ categories }) => categories.map(getCategory),
};
