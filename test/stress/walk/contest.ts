import { parseJson } from '../../../src/contract/json.ts';
import type { Checkable } from '../../support/contract.ts';
import type { Exchange } from './linearizable.ts';
import { resourceOf, resources } from './places.ts';
import type { Request } from './request.ts';
import { animals } from './resources/animals.ts';
import type { Scene } from './scene.ts';
import { World } from './world.ts';

/** A few animals, their orders and the names of their categories, all of which clients change concurrently. */
export class Contest {
  /** State before the first exchange. */
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

  /** Requests that read the complete state of the shared animals. */
  endReads(): Request[] {
    return resources.flatMap(({ endReads }) => [...(endReads?.(this.scene) ?? [])]);
  }

  /** Records the state that a response shows, so that later requests refer to objects that probably exist. */
  #look({ operationId, target, method }: Request, { status, text }: Checkable): void {
    const { world, gone } = this.scene;
    const { kind } = resourceOf(operationId);
    if (kind === undefined || status >= 300 || method === 'HEAD') return;
    if (method === 'DELETE') {
      const id = BigInt(/-?\d+$/.exec(target)?.[0] ?? 0);
      world.remove(kind, id);
      if (kind === animals) gone.add(id);
    } else if (text.startsWith('{')) {
      const thing = parseJson(text) as { readonly id: bigint };
      world.all(kind).set(thing.id, thing as never);
    }
  }
}
