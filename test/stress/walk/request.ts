import type { OperationId } from '../../../src/contract/operations.ts';
import type { Checkable } from '../../support/contract.ts';
import { refusal, type Turn } from './rules.ts';
import type { Tags } from './tags.ts';
import type { Outcome, World } from './world.ts';

/** A request of the walk: its words, and what they do in the model. */
export interface Request {
  readonly operationId: OperationId;
  readonly method: string;
  /** Below the version. */
  readonly target: string;
  readonly body?: string;
  readonly type?: string;
  /** Sent with a key that may read animals and add them, and no more. */
  readonly isLimited?: true;
  /** The entity tags it demands, in `If-Match`; `*`: any. */
  readonly ifMatch?: readonly string[];
  /** `If-None-Match: *` on a change: only if it is new. */
  readonly isNew?: true;
  /** The entity tags the client has already, on a read. */
  readonly noneMatch?: readonly string[];
  readonly idempotencyKey?: string;
  /** Sent as it is, though it is wrong. */
  readonly wrongHeaders?: Readonly<Record<string, string>>;
  /** What the resource it changes looks like, as far as the client knows. */
  readonly current?: string;
  /** Others' things are in its answer, too, so that the model does not know all of it. */
  readonly isPartly?: true;
  /** What is answered before the store is looked at. */
  readonly refused?: Outcome;
  readonly act: (turn: Turn) => Outcome;
}

/** The scope each operation needs; undefined: any key may. */
const scopes: Readonly<Record<OperationId, string | undefined>> = {
  listPets: 'pets:read',
  createPet: 'pets:create',
  getPet: 'pets:read',
  updatePet: 'pets:write',
  deletePet: 'pets:write',
  getInventory: 'pets:read',
  listCategories: 'pets:read',
  getCategory: 'pets:read',
  putCategory: 'pets:write',
  deleteCategory: 'pets:write',
  placeOrder: 'orders:write',
  listOrders: 'orders:read',
  getOrder: 'orders:read',
  approveOrder: 'orders:write',
  deliverOrder: 'orders:write',
  cancelOrder: 'orders:write',
  returnOrder: 'orders:write',
  getRateLimit: undefined,
};

/** What a key has that is made without saying so. */
const limitedScopes: readonly (string | undefined)[] = ['pets:read', 'pets:create', undefined];

export function isRead({ method }: Pick<Request, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

export function headersOf({
  body,
  type = 'application/json',
  ifMatch,
  isNew,
  noneMatch,
  idempotencyKey,
  wrongHeaders,
}: Request): Record<string, string> {
  return {
    ...(body !== undefined && { 'Content-Type': type }),
    ...(ifMatch && { 'If-Match': ifMatch.join(', ') }),
    ...(isNew && { 'If-None-Match': '*' }),
    ...(noneMatch && { 'If-None-Match': noneMatch.join(', ') }),
    ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }),
    ...wrongHeaders,
  };
}

/** What the model expects of the answer; what the request changes is changed in the world. */
export function perform(world: World, request: Request, answer: Checkable, tags: Tags): Outcome {
  const scope = scopes[request.operationId];
  if (request.isLimited && !limitedScopes.includes(scope)) {
    const challenge = `Bearer realm="animal-store", error="insufficient_scope", scope="${scope}"`;
    const headers = { 'www-authenticate': challenge };
    return { status: 403, error: { code: 'insufficient_scope', headers } };
  }
  if (request.refused) return request.refused;
  const { idempotencyKey } = request;
  const words = `${request.method} ${request.target}\n${request.body ?? ''}`;
  const kept = idempotencyKey === undefined ? undefined : world.kept.get(idempotencyKey);
  if (kept !== undefined) {
    if (kept.request !== words) return refusal(422, 'idempotency_key_reused');
    return { ...kept.outcome, isReplayed: true };
  }
  const meets = (text: string | undefined) => isMet(request, text, tags);
  const outcome = request.act({ world, chosen: chosenBy(answer), meets });
  if (idempotencyKey !== undefined && outcome.status < 300) {
    world.kept.set(idempotencyKey, { request: words, outcome });
  }
  return isRead(request) && isHeld(request, outcome, tags) ? { ...outcome, status: 304 } : outcome;
}

function isMet({ ifMatch, isNew }: Request, text: string | undefined, tags: Tags): boolean {
  if (isNew && text !== undefined) return false;
  if (ifMatch === undefined) return true;
  if (text === undefined) return false;
  return ifMatch.some((one) => one === '*' || one.replace(/^W\//, '') === tags.of(text));
}

/** Whether the client has what it asks for. */
function isHeld({ noneMatch }: Request, { status, text }: Outcome, tags: Tags): boolean {
  if (noneMatch === undefined || status !== 200) return false;
  const tag = (text === undefined ? undefined : tags.of(text)) ?? 'none that was seen';
  return noneMatch.some((one) => one === '*' || one.replace(/^W\//, '') === tag);
}

/** The parts of an answer that are the service's own choice. */
export function chosenBy({ text }: Checkable): { id: bigint; at: string } {
  const id = BigInt(/^\{"id":(\d+),/.exec(text)?.[1] ?? 0);
  return { id, at: /"updatedAt":"([^"]+)"\}$/.exec(text)?.[1] ?? '' };
}
