/**
 * A random walk over all operations by many concurrent clients, checked against a model in memory. Each client has
 * private animals, orders and categories, for which the model predicts every byte of the responses. All clients also
 * contend for a few shared objects, and the responses about shared objects must be linearizable. At every pause, the
 * whole store is compared with the model.
 */
import type { Checkable } from '../../support/contract.ts';
import { Failures } from '../failures.ts';
import { Chance } from '../generate/chance.ts';
import { audit, type Read } from './audit.ts';
import { Contest } from './contest.ts';
import { type Exchange, settled } from './linearizable.ts';
import { Mirror } from './mirror.ts';
import { perform, type Request } from './request.ts';
import { animals } from './resources/animals.ts';
import { putCategory } from './resources/categories.ts';
import { kind as orders } from './resources/orders.ts';
import { createPet } from './resources/pets.ts';
import { Shared } from './shared.ts';
import { type Send, Walker } from './walker.ts';
import { World } from './world.ts';

interface WalkOptions {
  readonly seed: number;
  readonly steps: number;
  readonly clients: number;
  /** Returns a function that sends requests for a client with a separate account. */
  readonly sendOf: (client: number) => Promise<Send>;
  readonly progress: (line: string) => void;
  readonly stepsBetweenPauses: number;
}

interface WalkResult {
  readonly steps: number;
  readonly contended: number;
  readonly pauses: number;
  readonly animals: number;
  readonly orders: number;
  readonly ways: number;
}

const contestCount = 8;

export async function walk(options: WalkOptions): Promise<WalkResult> {
  const { seed, steps, clients, sendOf, progress, stepsBetweenPauses } = options;
  const shared = new Shared(Date.now);
  const own = await sendOf(clients);
  const sends = await Promise.all(Array.from({ length: clients }, (_, client) => sendOf(client)));
  const walkers = sends.map((send, index) => new Walker({ index, seed, send, shared }));
  const auditor = new Auditor(own, seed, shared);
  const mirror = new Mirror();
  const figures = { steps: 0, contended: 0, pauses: 0 };
  for (; figures.steps < steps; figures.pauses++) {
    const contests = await auditor.contests(figures.pauses);
    await stepAll(walkers, contests, stepsBetweenPauses, seed);
    figures.steps += stepsBetweenPauses;
    for (const [index, contest] of contests.entries()) {
      figures.contended += contest.exchanges.length;
      const heir = walkers[(figures.pauses * contestCount + index) % clients] as Walker;
      heir.inherit({ world: await auditor.settle(contest), categories: contest.scene.categories });
    }
    for (const walker of walkers) walker.forgetContests();
    await audit(auditor.read, all(walkers), mirror);
    progress(`${figures.steps} of ${steps} steps`);
  }
  const world = all(walkers);
  const sizes = { animals: world.all(animals).size, orders: world.all(orders).size };
  return { ...figures, ...sizes, ways: shared.answers.size };
}

async function stepAll(
  walkers: readonly Walker[],
  contests: readonly Contest[],
  steps: number,
  seed: number,
): Promise<void> {
  const failures = new Failures(seed);
  let left = steps;
  const go = async (walker: Walker, index: number) => {
    while (left-- > 0 && failures.count === 0)
      await failures.guard(`client ${index}`, () => walker.step(contests));
  };
  await Promise.all(walkers.map(go));
  failures.end();
}

/** The combined model of all walkers. */
function all(walkers: readonly Walker[]): World {
  const world = new World();
  for (const walker of walkers) world.absorb(walker.scene.world);
  return world;
}

/** The client that creates the contended objects and reads their final state. */
class Auditor {
  readonly #send: Send;
  readonly #chance: Chance;
  readonly #shared: Shared;

  constructor(send: Send, seed: number, shared: Shared) {
    this.#send = send;
    this.#chance = new Chance(seed, -1);
    this.#shared = shared;
  }

  readonly read: Read = (target) =>
    this.#ask({ operationId: 'listPets', method: 'GET', target, act: () => ({ status: 200 }) });

  /** Creates new contended animals for each round of requests, so that none of them has orders at the start. */
  async contests(pause: number): Promise<Contest[]> {
    const contests: Contest[] = [];
    for (let index = 0; index < contestCount; index++)
      contests.push(await this.#contest(pause * contestCount + index));
    return contests;
  }

  async #contest(number: number): Promise<Contest> {
    const categories = [0, 1].map((one) => BigInt(1_000_000 + 2 * number + one));
    const [categoryId = 0n] = categories;
    const world = new World();
    const made = { name: `Contended ${number}`, categoryId, status: 'available' } as const;
    const name = `Category ${number}`;
    const requests: Request[] = [
      {
        operationId: 'putCategory',
        method: 'PUT',
        target: `/categories/${categoryId}`,
        body: `{"name":"${name}"}`,
        act: (turn) => putCategory(turn, categoryId, name),
      },
      ...[1, 2].map(
        (): Request => ({
          operationId: 'createPet',
          method: 'POST',
          target: '/pets',
          body: `{"name":"${made.name}","categoryId":${categoryId}}`,
          act: (turn) => createPet(turn, made),
        }),
      ),
    ];
    for (const request of requests) perform(world, request, await this.#ask(request), this.#shared.tags);
    return new Contest(world, categories);
  }

  /** The final state of the contended objects. The auditor reads the complete state, so only one result is possible. */
  async settle(contest: Contest): Promise<World> {
    const ends: Exchange[] = [];
    for (const request of contest.endReads()) {
      const sentAt = this.#shared.tick();
      const answer = await this.#ask(request);
      ends.push({ request, answer, sentAt, answeredAt: this.#shared.tick() });
    }
    return settled(contest.start, [...contest.exchanges, ...ends], this.#shared.tags);
  }

  async #ask(request: Request): Promise<Checkable> {
    const known = this.#shared.beforeSending();
    const answer = await this.#send(request, this.#chance);
    if (answer.status >= 300 && answer.status !== 404)
      throw new Error(`${request.target}: ${answer.status} ${answer.text}`);
    this.#shared.checkChosen(request, answer, known);
    return answer;
  }
}
