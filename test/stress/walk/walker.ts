import { parseJson } from '../../../src/contract/json.ts';
import { type Checkable, checkResponse } from '../../support/contract.ts';
import { ample } from '../../support/process.ts';
import { Chance } from '../generate/chance.ts';
import type { Contest } from './contest.ts';
import { mistakeOf, seenIn } from './judge.ts';
import type { Exchange } from './linearizable.ts';
import { anyRequest, askedAgain } from './places.ts';
import { isRead, perform, type Request } from './request.ts';
import type { Position, Scene } from './scene.ts';
import type { Shared } from './shared.ts';
import { World } from './world.ts';

/** Sends a request; `isLimited` with the key that may do little. */
export type Send = (request: Request, chance: Chance) => Promise<Checkable>;

/** How many of its latest requests a client may repeat, and positions in lists it knows. */
const remembered = 20;
/** How often it is about what others change, too. */
const contested = 0.35;

/** One client with its own account, its own animals, orders and categories, and a part in what all contend for. */
export class Walker {
  readonly scene: Scene & { readonly categories: bigint[] };
  readonly #chance: Chance;
  readonly #send: Send;
  readonly #shared: Shared;
  readonly #positions: Position[] = [];
  #repeatable: { readonly request: Request; readonly contest: Contest | undefined }[] = [];
  /** Requests its account was charged for. */
  #charged = 0;

  constructor(index: number, seed: number, send: Send, shared: Shared) {
    this.#chance = new Chance(seed, index);
    this.#send = send;
    this.#shared = shared;
    const categories = [0, 1, 2, 3].map((one) => BigInt(index * 1_000 + one));
    this.scene = { world: new World(), categories, gone: new Set(), isShared: false };
  }

  /** One request, or the same twice at once. */
  async step(contests: readonly Contest[]): Promise<void> {
    const chance = this.#chance;
    const again =
      this.#repeatable.length > 0 && chance.often(0.15) ? chance.pick(this.#repeatable) : undefined;
    const isContested = contests.length > 0 && chance.often(contested);
    const contest = again === undefined ? (isContested ? chance.pick(contests) : undefined) : again.contest;
    const request = this.#requestFor(contest, again?.request);
    if (request.idempotencyKey !== undefined || isRead(request)) this.#remember(request, contest);
    if (contest === undefined) await this.#alone(request);
    else if (request.idempotencyKey !== undefined && chance.often(0.3)) await this.#twice(request, contest);
    else contest.add(await this.#exchange(request));
  }

  /** What was contended for belongs to this client from now on; nothing that others may repeat. */
  inherit({ world, categories }: { readonly world: World; readonly categories: readonly bigint[] }): void {
    this.scene.world.absorb(world);
    this.scene.categories.push(...categories);
  }

  /** Forgets requests about what is no longer contended for. */
  forgetContests(): void {
    this.#repeatable = this.#repeatable.filter(({ contest }) => contest === undefined);
  }

  /** A new request; or one sent before, now and then with other words under the same key, or only if it has changed. */
  #requestFor(contest: Contest | undefined, again: Request | undefined): Request {
    const scene = contest?.scene ?? this.scene;
    const { tags } = this.#shared;
    const making = { chance: this.#chance, scene, tags, positions: this.#positions };
    const make = () => anyRequest(making);
    if (again === undefined) return make();
    if (isRead(again)) return askedAgain(making, again);
    const { idempotencyKey } = again;
    const other = this.#chance.often(0.3) ? make() : undefined;
    const takesKey = other?.method === 'POST' && other.wrongHeaders === undefined;
    return takesKey && idempotencyKey !== undefined ? { ...other, idempotencyKey } : again;
  }

  #remember(request: Request, contest: Contest | undefined): void {
    if (this.#repeatable.length >= remembered) this.#repeatable.shift();
    this.#repeatable.push({ request, contest });
  }

  /** Others have no part in it, so the model knows the answer. */
  async #alone(request: Request): Promise<void> {
    const { answer } = await this.#exchange(request);
    const { world, gone } = this.scene;
    const before = [...world.animals.keys()];
    const expected = perform(world, request, answer, this.#shared.tags);
    const mistake = mistakeOf(request, expected, answer, this.#shared.tags);
    if (mistake !== undefined) throw new Error(`${request.method} ${request.target}: ${mistake}`);
    for (const id of before) if (!world.animals.has(id)) gone.add(id);
  }

  async #twice(request: Request, contest: Contest): Promise<void> {
    const both = await Promise.all([this.#exchange(request, true), this.#exchange(request, true)]);
    for (const exchange of both) {
      // The other one is under way.
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

  /** Every request costs one of the account's, but for those that are free; nobody else uses the account. */
  #checkCharged({ operationId }: Request, { headers, text, status }: Checkable, isTwice: boolean): void {
    if (operationId !== 'getRateLimit') this.#charged++;
    else if (status === 200 && text !== '' && !text.includes(`"remaining":${ample.perDay - this.#charged},`))
      throw new Error(`${this.#charged} requests were sent, and the limits are ${text}`);
    const left = Number(/"day";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    if (!isTwice && left !== ample.perDay - this.#charged)
      throw new Error(`${this.#charged} requests were sent, and ${left} of ${ample.perDay} are left`);
  }
}

/** The cursor of the next page, and what it was made for. */
function positionIn(request: Request, { headers, text, status }: Checkable): Position | undefined {
  const [, query, cursor] = /\?([^>]*)&cursor=([^>&]+)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
  if (query === undefined || cursor === undefined || status !== 200 || text === '') return undefined;
  const filters = request.target
    .replace(/^[^?]*\??/, '')
    .split('&')
    .filter((part) => part !== '' && !/^(?:limit|cursor)=/.test(part))
    .join('&');
  const last = (parseJson(text) as readonly { readonly id: bigint }[]).at(-1);
  return last && { operationId: request.operationId, filters, cursor, after: last.id };
}
