/** Description of a resource for the walk. Each file of `resources/` has one. */
import type { OperationId } from '../../../src/contract/operations.ts';
import type { Request } from './request.ts';
import type { Making, Scene } from './scene.ts';
import { type Kind, refusal, type World } from './world.ts';

/** A list of the service with the things that it has to show. */
export type Listed = readonly [target: string, texts: readonly string[]];

export interface Resource {
  /** Creates a request of each operation with the model's expectation. */
  readonly places: { readonly [Id in OperationId]?: (making: Making) => Request };
  /** Representation of an object. Undefined if it has no id. */
  readonly kind?: Kind<never>;
  /** Each account has a separate one, so that clients do not contend for it. */
  readonly isOwn?: true;
  /** Lists that together show all there is, as they have to be in a store that has just this world. */
  readonly lists?: (world: World) => Iterable<Listed>;
  /** Reads of whole answers that are no lists, such as counts. */
  readonly answers?: (world: World) => Iterable<readonly [target: string, text: string]>;
  /** Requests that show all there is of a scene that several clients change. */
  readonly endReads?: (scene: Scene) => Iterable<Request>;
}

/** A read of one thing. */
export function getRequest<Thing>(
  operationId: OperationId,
  kind: Kind<Thing>,
  [path, id]: readonly [path: string, id: bigint],
  notFound: string,
): Request {
  return {
    operationId,
    method: 'GET',
    target: `${path}/${id}`,
    act: ({ world }) => {
      const thing = world.all(kind).get(id);
      return thing === undefined ? refusal(404, notFound) : { status: 200, text: kind.textOf(thing) };
    },
  };
}

/** The object to change, as far as the client knows it. */
export function currentOf<Thing>({ world }: Scene, kind: Kind<Thing>, id: bigint): { current?: string } {
  const thing = world.all(kind).get(id);
  return thing === undefined ? {} : { current: kind.textOf(thing) };
}
