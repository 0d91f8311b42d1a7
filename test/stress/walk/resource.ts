/** Describes a resource for the walk. Each file in `resources/` describes one resource. */
import type { OperationId } from '../../../src/contract/operations.ts';
import type { Request } from './request.ts';
import type { RequestInputs, Scene } from './scene.ts';
import { type Kind, refusal, type World } from './world.ts';

/** A list's target and its expected items. */
export type Listed = readonly [target: string, texts: readonly string[]];

export interface Resource {
  /** For each operation, creates a request and the model's expectation. */
  readonly places: { readonly [Id in OperationId]?: (inputs: RequestInputs) => Request };
  /** Undefined if the resource's objects have no ids. */
  readonly kind?: Kind<never>;
  /** True if each account has separate objects, so that clients do not contend for them. */
  readonly isOwn?: true;
  /** Lists that together show all objects, with the items that the model expects. */
  readonly lists?: (world: World) => Iterable<Listed>;
  /** Reads other than lists, such as counts, with the responses that the model expects. */
  readonly answers?: (world: World) => Iterable<readonly [target: string, text: string]>;
  /** Requests that read the complete state of objects that several clients change. */
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

/** The last representation of the object that the client has received. */
export function currentOf<Thing>({ world }: Scene, kind: Kind<Thing>, id: bigint): { current?: string } {
  const thing = world.all(kind).get(id);
  return thing === undefined ? {} : { current: kind.textOf(thing) };
}
