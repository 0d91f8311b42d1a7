import { parseJson } from '../../../src/contract/json.ts';
import { allOperations, isRepeatable, type OperationId } from '../../../src/contract/operations.ts';
import { dayMs } from '../../../src/domain/clock.ts';
import { type Checkable, checkResponse } from '../../support/contract.ts';
import { ample } from '../../support/process.ts';
import { Chance } from '../generate/chance.ts';
import type { Contest } from './contest.ts';
import { mistakeOf, seenIn } from './judge.ts';
import type { Exchange } from './linearizable.ts';
import { anyRequest, askedAgain, resourceOf } from './places.ts';
import { isRead, perform, type Request, rowOf } from './request.ts';
import { animals } from './resources/animals.ts';
import type { Position, Scene } from './scene.ts';
import type { Shared } from './shared.ts';
import { World } from './world.ts';

/** Sends a request. If `isLimited` is set, uses the key that has no scopes. */
export type Send = (request: Request, chance: Chance) => Promise<Checkable>;

/** Maximum number of recent reads, writes and list positions that a client can repeat. */
const remembered = 20;
/** One in this many requests uses objects that other clients also change. */
const stepsPerContest = 3;

export const operationIds = allOperations.map(({ operationId }) => operationId);

interface WalkerOptions {
  readonly index: number;
  readonly seed: number;
  readonly send: Send;
  readonly shared: Shared;
  /** True if no other client uses the store. */
  readonly isAlone?: boolean;
  /** Operations for the next requests. Defaults to all operations, equally often. */
  readonly inTurn?: () => readonly OperationId[];
  /** Outcomes that have not occurred yet. Defaults to none. */
  readonly unmet?: () => readonly string[];
}

/** A request that the client may repeat. */
interface Repeatable {
  readonly request: Request;
  readonly contest: Contest | undefined;
}

/**
 * A client with a separate account. It has private animals, orders and categories, and also changes contended objects.
 */
export class Walker {
  readonly scene: Scene & { readonly categories: bigint[] };
  readonly #chance: Chance;
  readonly #send: Send;
  readonly #shared: Shared;
  readonly #positions: Position[] = [];
  readonly #inTurn: () => readonly OperationId[];
  readonly #unmet: () => readonly string[];
  readonly #due: OperationId[] = [];
  #steps = 0;
  #repeatable: Repeatable[] = [];
  /** Number of requests counted in the current day window of the client's account, and the window's start. */
  #charged = 0;
  #chargedSince = 0;

  constructor({ index, seed, send, shared, isAlone = false, ...options }: WalkerOptions) {
    const { inTurn = () => operationIds, unmet = () => [] } = options;
    this.#chance = new Chance(seed, index);
    this.#send = send;
    this.#inTurn = inTurn;
    this.#unmet = unmet;
    this.#shared = shared;
    const categories = [1, 2, 3, 4, 5, 6].map((one) => BigInt(index * 1_000 + one));
    this.scene = { world: new World(), categories, gone: new Set(), isShared: false, isAlone };
  }

  /** Sends one request, or the same request twice concurrently. */
  async step(contests: readonly Contest[]): Promise<void> {
    const chance = this.#chance;
    const kept = chance.pick([isRead, (request: Request) => !isRead(request)]);
    const repeatable = this.#withUnmetReplays(this.#repeatable.filter(({ request }) => kept(request)));
    const again = repeatable.length > 0 && chance.often(0.2) ? chance.pick(repeatable) : undefined;
    const isContested = contests.length > 0 && this.#steps++ % stepsPerContest === 0;
    const contest = again === undefined ? (isContested ? chance.pick(contests) : undefined) : again.contest;
    const request = this.#requestFor(contest, again?.request);
    if (request.idempotencyKey !== undefined || isRead(request)) this.#remember(request, contest);
    if (contest === undefined) await this.#alone(request);
    else if (request.idempotencyKey !== undefined && chance.often(0.3)) await this.#twice(request, contest);
    else contest.add(await this.#exchange(request));
  }

  /** The requests of operations that have not been replayed yet. All requests if there are none. */
  #withUnmetReplays(requests: readonly Repeatable[]): readonly Repeatable[] {
    const ways = this.#unmet().filter((way) => way.endsWith(' replayed'));
    const due = requests.filter(({ request }) =>
      ways.some((way) => way.startsWith(`${request.operationId} `)),
    );
    return due.length > 0 ? due : requests;
  }

  /** Adopts objects that are no longer contended. Other clients must not repeat earlier requests for these objects. */
  inherit({ world, categories }: { readonly world: World; readonly categories: readonly bigint[] }): void {
    this.scene.world.absorb(world);
    this.scene.categories.push(...categories);
  }

  /** Forgets requests for objects that clients no longer share. */
  forgetContests(): void {
    this.#repeatable = this.#repeatable.filter(({ contest }) => contest === undefined);
  }

  /**
   * A new request or a repeated one. A repeated write may have a different body under the same idempotency key, and a
   * repeated read may be conditional.
   */
  #requestFor(contest: Contest | undefined, again: Request | undefined): Request {
    const scene = contest?.scene ?? this.scene;
    const { tags } = this.#shared;
    const inputs = { chance: this.#chance, scene, tags, positions: this.#positions, unmet: this.#unmet() };
    const make = () => anyRequest(inputs, this.#nextOperation(contest !== undefined));
    if (again === undefined) return make();
    if (isRead(again)) return askedAgain(inputs, again);
    const { idempotencyKey } = again;
    const other = this.#chance.often(0.3) ? make() : undefined;
    const takesKey = other !== undefined && isRepeatable(rowOf(other)) && other.wrongHeaders === undefined;
    return takesKey && idempotencyKey !== undefined ? { ...other, idempotencyKey } : again;
  }

  #nextOperation(isContested: boolean): OperationId {
    const fits = (id: OperationId) => !(isContested && resourceOf(id).isOwn);
    if (!this.#due.some(fits)) this.#due.push(...this.#chance.shuffled(this.#inTurn()));
    const [operationId] = this.#due.splice(this.#due.findLastIndex(fits), 1);
    return operationId as OperationId;
  }

  #remember(request: Request, contest: Contest | undefined): void {
    const alike = this.#repeatable.filter((one) => isRead(one.request) === isRead(request));
    if (alike.length >= remembered) this.#repeatable = this.#repeatable.filter((one) => one !== alike[0]);
    this.#repeatable.push({ request, contest });
  }

  /** Sends a request that involves no other client, so the model predicts the response. */
  async #alone(request: Request): Promise<void> {
    const { answer } = await this.#exchange(request);
    const { world, gone } = this.scene;
    const before = [...world.all(animals).keys()];
    world.passTo(this.#shared.now);
    const expected = perform(world, request, answer, this.#shared.tags);
    const mistake = mistakeOf(request, expected, answer, this.#shared.tags);
    if (mistake !== undefined) throw new Error(`${request.method} ${request.target}: ${mistake}`);
    this.#shared.meet(request, expected);
    for (const id of before) if (!world.all(animals).has(id)) gone.add(id);
  }

  async #twice(request: Request, contest: Contest): Promise<void> {
    const both = await Promise.all([this.#exchange(request, true), this.#exchange(request, true)]);
    for (const exchange of both) {
      // 409 is correct while the other request is in flight.
      const { status, headers, text } = exchange.answer;
      const isInUse = status === 409 && text.includes('"idempotency_key_in_use"');
      if (!isInUse) contest.add(exchange);
      else if (headers.get('retry-after') !== '1') throw new Error(`409 without Retry-After: 1: ${text}`);
    }
  }

  async #exchange(request: Request, isTwice = false): Promise<Exchange> {
    const { shared, positions } = { shared: this.#shared, positions: this.#positions };
    const sentAt = shared.tick();
    const known = shared.beforeSending();
    const answer = await this.#send(request, this.#chance);
    const answeredAt = shared.tick();
    checkResponse(request.method, request.target, answer);
    shared.tally(request, answer);
    this.#checkCharged(request, answer, isTwice);
    const seen = seenIn(request, answer);
    if (seen !== undefined) {
      shared.tags.see(...seen);
      if (isRead(request)) shared.tags.keepLast(request.target, seen[1]);
    }
    shared.checkChosen(request, answer, known);
    const position = positionIn(request, answer);
    if (position !== undefined) {
      if (positions.length >= remembered) positions.shift();
      positions.push(position);
    }
    return { request, answer, sentAt, answeredAt };
  }

  /**
   * Checks that every request except getRateLimit counts once against the account's limit. No other client uses the
   * account.
   */
  #checkCharged({ operationId }: Request, { headers, text, status }: Checkable, isTwice: boolean): void {
    if (this.#shared.now >= this.#chargedSince + dayMs) this.#charged = 0;
    if (this.#charged === 0) this.#chargedSince = this.#shared.now;
    if (operationId !== 'getRateLimit') this.#charged++;
    else if (status === 200 && text !== '' && !text.includes(`"remaining":${ample.perDay - this.#charged},`))
      throw new Error(`${this.#charged} requests were sent, but the limits are ${text}`);
    const left = Number(/"day";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    if (!isTwice && left !== ample.perDay - this.#charged)
      throw new Error(`${this.#charged} requests were sent, but ${left} of ${ample.perDay} remain`);
  }
}

/** The cursor of the next page, and the list to which it belongs. */
function positionIn(
  { operationId, list }: Request,
  { headers, text, status }: Checkable,
): Position | undefined {
  const [, cursor] = /[?&]cursor=([^>&]+)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
  if (list === undefined || cursor === undefined || status !== 200 || text === '') return undefined;
  const last = (parseJson(text) as readonly { readonly id: bigint }[]).at(-1);
  return last && { operationId, ...list, cursor, after: last.id };
}
