/** Description of a resource for the walk. Each file of `resources/` has one. */
import type { OperationId } from '../../../src/contract/operations.ts';
import type { Request } from './request.ts';
import type { Making, Scene } from './scene.ts';
import { type Kind, refusal, type World } from './world.ts';

/** A list of the service with its expected items. */
export type Listed = readonly [target: string, texts: readonly string[]];

export interface Resource {
  /** Creates a request of each operation with the model's expectation. */
  readonly places: { readonly [Id in OperationId]?: (making: Making) => Request };
  /** Representation of an object. Undefined if it has no id. */
  readonly kind?: Kind<never>;
  /** Whether each account has separate objects, so that clients do not contend for them. */
  readonly isOwn?: true;
  /** Lists that together show all objects, with their contents in a store that contains only this world. */
  readonly lists?: (world: World) => Iterable<Listed>;
  /** Reads other than lists, such as counts, with their complete answers. */
  readonly answers?: (world: World) => Iterable<readonly [target: string, text: string]>;
  /** Requests that return the complete state of a scene that several clients change. */
  readonly endReads?: (scene: Scene) => Iterable<Request>;
}

/** A read of one object. */
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

/** The object to change, in the state known to the client. */
export function currentOf<Thing>({ world }: Scene, kind: Kind<Thing>, id: bigint): { current?: string } {
  const thing = world.all(kind).get(id);
  return thing === undefined ? {} : { current: kind.textOf(thing) };
}
