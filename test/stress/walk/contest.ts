import { parseJson } from '../../../src/contract/json.ts';
import type { Checkable } from '../../support/contract.ts';
import type { Exchange } from './linearizable.ts';
import type { Request } from './request.ts';
import type { Scene } from './scene.ts';
import {
  type Animal,
  ascending,
  categoryText,
  type Order,
  type Outcome,
  orderText,
  petText,
  World,
} from './world.ts';

/** A few animals with their orders and the names of their categories, which all clients change at once. */
export class Contest {
  /** As it was before the first exchange. */
  readonly start: World;
  readonly scene: Scene;
  readonly exchanges: Exchange[] = [];

  constructor(start: World, categories: readonly bigint[]) {
    this.start = start;
    this.scene = { world: new World(start), categories, gone: new Set(), isShared: true, isAlone: false };
  }

  add(exchange: Exchange): void {
    this.exchanges.push(exchange);
    this.#look(exchange.request, exchange.answer);
  }

  /** Requests that show all there is of it. */
  endReads(): Request[] {
    const { categories, world } = this.scene;
    const pets = categories.map((id): Request => {
      const query = `limit=100&categoryId=${id}`;
      const texts = ({ animals }: World) =>
        ascending(animals.values().filter(({ categoryId }) => categoryId === id)).map(petText);
      return {
        operationId: 'listPets',
        method: 'GET',
        target: `/pets?${query}`,
        act: (turn) => ({
          status: 200,
          text: `[${texts(turn.world).join()}]`,
          page: { query, hasNext: false },
        }),
      };
    });
    const orders = world.orders.keys().map((id): Request => {
      const textIn = (order: Order | undefined) => (order === undefined ? '' : orderText(order));
      return {
        operationId: 'getOrder',
        method: 'GET',
        target: `/orders/${id}`,
        act: (turn) => ({ status: 200, text: textIn(turn.world.orders.get(id)) }),
      };
    });
    const names = categories.map((id): Request => {
      const textIn = (name: string | undefined): Outcome =>
        name === undefined
          ? { status: 404, error: { code: 'category_not_found' } }
          : { status: 200, text: categoryText([id, name]) };
      return {
        operationId: 'getCategory',
        method: 'GET',
        target: `/categories/${id}`,
        act: (turn) => textIn(turn.world.categories.get(id)),
      };
    });
    return [...pets, ...orders, ...names];
  }

  /** Takes over what an answer shows, so that the next requests are about what is likely to be there. */
  #look({ operationId, target, method }: Request, { status, text }: Checkable): void {
    const { world, gone } = this.scene;
    if (status === 204 && operationId === 'deletePet') {
      const id = BigInt(target.replace(/\D/g, ''));
      world.animals.delete(id);
      gone.add(id);
    }
    if (status >= 300 || text === '' || method === 'HEAD') return;
    if (/Pet$/.test(operationId)) {
      const animal = parseJson(text) as Animal;
      world.animals.set(animal.id, animal);
    } else if (/Order$/.test(operationId)) {
      const { reference, ...order } = parseJson(text) as Order;
      world.orders.set(order.id, { ...order, reference });
    } else if (/Category$/.test(operationId)) {
      const { id, name } = parseJson(text) as { id: bigint; name: string };
      world.categories.set(id, name);
    }
  }
}
