/** Generated valid requests of every operation over HTTP: every answer is the right one, and keeps the contract. */
import { parseJson } from '../../src/contract/json.ts';
import { allOperations, type OperationId } from '../../src/contract/operations.ts';
import { checkResponse } from '../support/contract.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { bytesOf } from './generate/http.ts';
import { createPet, type Known, petText, type ValidRequest, validRequest } from './generate/requests.ts';
import { scenes } from './generate/scenes.ts';
import { Stage } from './generate/stage.ts';
import { provingService } from './service.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { overWires, type Wire, type WireResponse } from './wire.ts';

const connections = 64;
/** How many animals are there before the requests begin. */
const storedBefore = 500;
const heldCursors = 500;

class Run {
  readonly known: Known;
  readonly #cursors: { status: string | undefined; cursor: string }[] = [];
  /** The first animals, by id, as they have to come back. */
  readonly #texts = new Map<bigint, string>();
  /** Requests by their operation; those that others needed before them are not counted. */
  readonly counts = Object.fromEntries(allOperations.map(({ operationId }) => [operationId, 0])) as Record<
    OperationId,
    number
  >;

  constructor({ key, poorKey }: Pick<Known, 'key' | 'poorKey'>) {
    this.known = { key, poorKey, stored: storedBefore, cursors: this.#cursors };
  }

  /** Half of the cases are requests of the specification's operations, the other half scenes of any. */
  async case(wire: Wire, chance: Chance): Promise<void> {
    if (chance.often(0.5)) return this.perform(wire, validRequest(chance, this.known));
    const { operationId } = chance.pick(allOperations);
    this.counts[operationId]++;
    const stage = new Stage(chance, this.known, async (request) => {
      const response = await wire.send(bytesOf(request));
      checkResponse(request.method, request.target, response);
      return response;
    });
    await scenes[operationId](stage);
  }

  async perform(wire: Wire, request: ValidRequest): Promise<void> {
    const { operationId, method, target } = request;
    this.counts[operationId]++;
    const response = await wire.send(bytesOf(request), method === 'HEAD');
    same(`the status of ${method} ${target}`, response.status, request.status);
    checkResponse(method, target, response);
    if (request.ownId !== undefined)
      same('X-Request-Id', response.headers.get('x-request-id'), request.ownId);
    if (method !== 'HEAD') this.#checkBody(request, response);
    if (request.list !== undefined) this.#keepCursor(request.list.status, response);
  }

  #checkBody({ pet, petId, list, status }: ValidRequest, { text }: WireResponse): void {
    if (pet !== undefined) {
      const id = BigInt(/^\{"id":(\d+),/.exec(text)?.[1] ?? -1);
      same('the new animal', text, petText(id, pet));
      if (id <= BigInt(storedBefore)) this.#texts.set(id, text);
    } else if (petId !== undefined && status === 200) same(`animal ${petId}`, text, this.#texts.get(petId));
    else if (list !== undefined) this.#checkPage(list, text);
  }

  #checkPage({ limit, status }: NonNullable<ValidRequest['list']>, text: string): void {
    const page = parseJson(text) as { id: bigint; name: string; categoryId: bigint; status: string }[];
    if (page.length > limit) throw new Error(`${page.length} animals on a page of ${limit}`);
    let last = 0n;
    for (const { id, ...pet } of page) {
      if (id <= last) throw new Error(`animal ${id} stands after ${last}`);
      last = id;
      if (status !== undefined) same(`the status of animal ${id}`, pet.status, status);
      const known = this.#texts.get(id);
      if (known !== undefined) same(`animal ${id} in a list`, petText(id, pet), known);
    }
  }

  #keepCursor(status: string | undefined, { headers }: WireResponse): void {
    const cursor = /[?&]cursor=([^>&]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    if (cursor === undefined) return;
    if (this.#cursors.length >= heldCursors) this.#cursors.shift();
    this.#cursors.push({ status, cursor });
  }
}

export async function validRequests({ rounds, seed, progress }: StressOptions) {
  await using service = await provingService();
  const run = new Run(service);
  const failures = new Failures(seed);
  await overWires(service.url, connections, storedBefore, (wire, index) =>
    failures.guard(-1 - index, () => run.perform(wire, createPet(new Chance(seed, -1 - index), run.known))),
  );
  await overWires(service.url, connections, rounds, (wire, index) => {
    if (index % 1_000 === 0) progress(`${index} of ${rounds} requests`);
    return failures.guard(index, () => run.case(wire, new Chance(seed, index)));
  });
  service.checkRunning();
  failures.end();
  return run.counts;
}

export const valid: StressTest = {
  name: 'valid',
  promise:
    'generated valid requests of every operation are all answered as the contract says, checked by an independent ' +
    'validator: none refused, no 5xx, every animal comes back as it was sent',
  rounds: 1_000_000,
  run: validRequests,
};
