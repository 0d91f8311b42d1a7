import type { Operation } from '../../../src/contract/operation.ts';
import { type OperationId, operations } from '../../../src/contract/operations.ts';
import type { Checkable } from '../../support/contract.ts';
import type { Chance } from '../generate/chance.ts';
import { objectText } from '../generate/json-text.ts';
import { secretMember, type Tags } from './tags.ts';
import { type Outcome, refusal, type Turn, type World } from './world.ts';

/** The members of a body, with their values as JSON. */
export type Members = readonly (readonly [name: string, json: string])[];

/** The list that a request reads: its path, and its filters keyed by parameter name. */
export interface ListIn {
  readonly path: string;
  readonly filters: Readonly<Record<string, string>>;
}

/** A request in the random walk, and its effect on the model. */
export interface Request {
  readonly operationId: OperationId;
  readonly method: string;
  /** Target of the request, relative to /v1. */
  readonly target: string;
  readonly list?: ListIn;
  readonly members?: Members;
  /** The body as sent. Need not be valid JSON. */
  readonly body?: string | Uint8Array;
  /** Media type of the body. Null if the header is omitted. */
  readonly type?: string | null;
  /**
   * Values of the `Authorization` header, derived from the client's key. Defaults to the client's key as a Bearer
   * token.
   */
  readonly credentials?: (key: string, chance: Chance) => readonly string[];
  /** Sent with a key that has no scopes. */
  readonly isLimited?: true;
  /** The entity tags of `If-Match`. */
  readonly ifMatch?: readonly string[];
  /** `If-None-Match: *` on a change. */
  readonly isNew?: true;
  /** The entity tags of `If-None-Match` on a read. */
  readonly noneMatch?: readonly string[];
  readonly idempotencyKey?: string;
  readonly wrongHeaders?: Readonly<Record<string, string>>;
  /** Last representation of the changed resource that the client has received. */
  readonly current?: string;
  /** True if the response also contains other clients' resources, which are not in the model. */
  readonly isPartly?: true;
  /** Expected response of a request that is rejected before the store is read. */
  readonly refused?: Outcome;
  /**
   * Name of a special outcome, such as an error for a cursor from another list. Counts as covered once a response
   * matches `refused`.
   */
  readonly way?: string;
  readonly act: (turn: Turn) => Outcome;
}

export function rowOf({ operationId }: Pick<Request, 'operationId'>): Operation {
  return operations[operationId];
}

export function isRead({ method }: Pick<Request, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** A JSON body with these members, in random order and with random whitespace and escapes. */
export function bodyOf(chance: Chance, members: Members): { members: Members; body: string } {
  return { members, body: objectText(chance, members) };
}

/** All headers except the credentials. */
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
    ...(body !== undefined && type !== null && { 'Content-Type': type }),
    ...(ifMatch && { 'If-Match': ifMatch.join(', ') }),
    ...(isNew && { 'If-None-Match': '*' }),
    ...(noneMatch && { 'If-None-Match': noneMatch.join(', ') }),
    ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }),
    ...wrongHeaders,
  };
}

/** Applies the request to the model and returns the expected response. */
export function perform(world: World, request: Request, answer: Checkable, tags: Tags): Outcome {
  const { scope } = rowOf(request);
  if (request.isLimited && scope !== undefined) {
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
    const ways = kept.isAfterExpiry ? [replayedAfterExpiry(kept.outcome.status)] : [];
    return { ...kept.outcome, isReplayed: true, ways };
  }
  const meets = (text: string | undefined) => isMet(request, text, tags);
  const outcome = request.act({ world, chosen: chosenBy(answer), meets });
  if (idempotencyKey !== undefined && outcome.status < 300) {
    const isAfterExpiry = world.expired.delete(idempotencyKey);
    world.kept.set(idempotencyKey, { at: world.now, request: words, outcome, isAfterExpiry });
  }
  return isRead(request) && isHeld(request, outcome, tags) ? { ...outcome, status: 304 } : outcome;
}

/** Label of a replay whose original request used a key that had last been used more than 24 hours earlier. */
export const replayedAfterExpiry = (status: number) => `${status} replayed after the expiry of its key`;

function isMet({ ifMatch, isNew }: Request, text: string | undefined, tags: Tags): boolean {
  if (isNew && text !== undefined) return false;
  if (ifMatch === undefined) return true;
  if (text === undefined) return false;
  return ifMatch.some((one) => one === '*' || one.replace(/^W\//, '') === tags.of(text));
}

/** True if the client has cached the current representation. */
function isHeld({ noneMatch }: Request, { status, text }: Outcome, tags: Tags): boolean {
  if (noneMatch === undefined || status !== 200) return false;
  const tag = (text === undefined ? undefined : tags.of(text)) ?? 'never seen';
  return noneMatch.some((one) => one === '*' || one.replace(/^W\//, '') === tag);
}

/** Returns the values in a response that the service chose. */
export function chosenBy({ status, text }: Checkable): Turn['chosen'] {
  const id = BigInt(/^\{"id":(\d+),/.exec(text)?.[1] ?? 0);
  const [, secret = ''] = secretMember.exec(text) ?? [];
  const time = status === 201 ? /"(?:created|updated)At":"([^"]+)"\}$/ : /"updatedAt":"([^"]+)"\}$/;
  return { id, secret, at: time.exec(text.replace(secretMember, '}'))?.[1] ?? '' };
}
