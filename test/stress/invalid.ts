/** Sends requests with exactly one error each. Every request must be rejected for that error. */
import { allOperations } from '../../src/contract/operations.ts';
import { type Checkable, checkResponse } from '../support/contract.ts';
import { Failures } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { provingService } from './service.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { audit } from './walk/audit.ts';
import { Caller, type CallerKeys } from './walk/caller.ts';
import { headMistakes } from './walk/head-mistakes.ts';
import { mistakeOf } from './walk/judge.ts';
import { mistakesOf } from './walk/mistakes.ts';
import { plainRequest } from './walk/places.ts';
import { perform, type Request } from './walk/request.ts';
import type { RequestInputs } from './walk/scene.ts';
import { Tags } from './walk/tags.ts';
import { World } from './walk/world.ts';

const connections = 64;

/** Every possible error in a request, for each operation. All are tested equally often. */
export const cases = allOperations.flatMap((operation) =>
  [...headMistakes(operation), ...mistakesOf(operation)].map((mistake) => ({
    mistake,
    operationId: operation.operationId,
  })),
);

/** Inputs for generating requests to a service with an empty store. */
export function nothingIn(chance: Chance): RequestInputs {
  const scene = {
    world: new World(),
    categories: [1n, 2n],
    gone: new Set<bigint>(),
    isShared: false,
    isAlone: true,
  };
  return { chance, scene, tags: new Tags(), positions: [] };
}

/** Creates the invalid request for a case. */
export function wrongRequest(index: number, chance: Chance): Request {
  const { mistake, operationId } = cases[index % cases.length] as (typeof cases)[number];
  return mistake.make(plainRequest(nothingIn(chance), operationId), chance);
}

function check(index: number, request: Request, answer: Checkable): void {
  checkResponse(request.method, request.target, answer);
  const expected = perform(new World(), request, answer, new Tags());
  const wrong = mistakeOf(request, expected, answer, new Tags());
  if (wrong === undefined) return;
  const { mistake, operationId } = cases[index % cases.length] as (typeof cases)[number];
  const { method, target, body = '' } = request;
  throw new Error(
    `${operationId}, ${mistake.what}: ${wrong}. Sent: ${method} ${target} ${body}`.slice(0, 800),
  );
}

/** Sends `rounds` invalid requests to a service with an empty store. */
export async function invalidRequests(
  { url, ...keys }: CallerKeys & { readonly url: string },
  { rounds, seed, progress }: StressOptions,
) {
  const failures = new Failures(seed);
  using stack = new DisposableStack();
  let next = 0;
  const work = async () => {
    const caller = stack.use(new Caller([url], keys));
    for (let index = next++; index < rounds; index = next++) {
      if (index % 1_000 === 0) progress(`${index} of ${rounds} requests`);
      const chance = new Chance(seed, index);
      await failures.guard(index, async () => {
        const request = wrongRequest(index, chance);
        check(index, request, await caller.send(request, chance));
      });
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  const reader = stack.use(new Caller([url], keys));
  const read = { operationId: 'listPets', method: 'GET', act: () => ({ status: 200 }) } as const;
  await failures.guard('end', () =>
    audit((target) => reader.send({ ...read, target }, new Chance(seed, -1)), new World()),
  );
  failures.end();
  return { 'kinds of errors': cases.length, 'minimum of each': Math.floor(rounds / cases.length) };
}

export const invalid: StressTest = {
  name: 'invalid',
  promise:
    'requests with exactly one error are never accepted, and each gets an Error body that names the error',
  rounds: 1_000_000,
  async run(options) {
    await using service = await provingService();
    const { url, key, poorKey } = service;
    const figures = await invalidRequests({ url, key, limitedKey: poorKey }, options);
    service.checkRunning();
    return figures;
  },
};
