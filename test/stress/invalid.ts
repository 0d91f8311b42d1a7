/** Generated requests with one mistake each: none is accepted, and each is told exactly what is wrong. */
import type { ErrorAnswer } from '../support/call.ts';
import { clientOf } from '../support/client.ts';
import { checkResponse } from '../support/contract.ts';
import { Failures, same } from './failures.ts';
import { Chance } from './generate/chance.ts';
import { bytesOf } from './generate/http.ts';
import type { InvalidRequest } from './generate/mutation.ts';
import { invalidRequest } from './generate/mutations.ts';
import { createPet, type Known } from './generate/requests.ts';
import { provingService } from './service.ts';
import type { StressOptions, StressTest } from './stress-test.ts';
import { overWires, Wire } from './wire.ts';

const connections = 64;

async function perform(wire: Wire, request: InvalidRequest): Promise<void> {
  const { method, target, mutation } = request;
  try {
    const response = await wire.send(bytesOf(request), method === 'HEAD');
    same(`the status of ${method} ${target}`, response.status, request.status);
    checkResponse(method, target, response);
    if (method !== 'HEAD') checkError(JSON.parse(response.text) as ErrorAnswer, request);
  } catch (error) {
    const sent =
      request.body === undefined
        ? ''
        : ` Sent: ${JSON.stringify(Buffer.from(request.body).toString()).slice(0, 400)}`;
    throw new Error(`${mutation}: ${(error as Error).message}${sent}`);
  }
}

function checkError(error: ErrorAnswer, { status, code, faulty }: InvalidRequest): void {
  same('status in the body', error.status, status);
  same('code', error.code, code);
  if (error.message === '') throw new Error('the message is empty');
  const named = (error.details ?? []).map(({ in: place, name }) => `${place}:${name}`);
  if (faulty !== undefined) same('the names of the details', [...new Set(named)].join(), faulty);
}

export async function invalidRequests({ rounds, seed, progress }: StressOptions) {
  await using service = await provingService();
  const { key, poorKey } = service;
  const known: Known = { key, poorKey, stored: 1, cursors: [] };
  const failures = new Failures(seed);
  const counts = new Map<string, number>();
  using first = new Wire(service.url);
  await first.send(bytesOf(createPet(new Chance(seed, -1), known)));
  await overWires(service.url, connections, rounds, (wire, index) => {
    if (index % 1_000 === 0) progress(`${index} of ${rounds} requests`);
    const request = invalidRequest(new Chance(seed, index), known);
    counts.set(request.mutation, (counts.get(request.mutation) ?? 0) + 1);
    return failures.guard(index, () => perform(wire, request));
  });
  const last = await first.send(bytesOf(createPet(new Chance(seed, -2), known)));
  // Ids are not skipped in a process that is not killed, so every animal added would show.
  if (!last.text.startsWith('{"id":2,')) failures.add('end', `animals were added: ${last.text}`);
  const client = clientOf(service.url, key);
  for (const path of ['/orders', '/categories']) {
    const { text } = await client.get(path);
    if (text !== '[]') failures.add('end', `${path}: ${text}`);
  }
  service.checkRunning();
  failures.end();
  return {
    'kinds of mistakes': counts.size,
    'of each at least': Math.min(...counts.values()),
    'animals added': 0,
  };
}

export const invalid: StressTest = {
  name: 'invalid',
  promise:
    'generated requests with one mistake each are never accepted, and each gets the Error body that names it',
  rounds: 1_000_000,
  run: invalidRequests,
};
