/** Each fault as the TypeScript client meets it; docs/guides/sandbox.md has those that it retries. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { AnimalStore, AnimalStoreError, RateLimitError } from '../../client/src/index.ts';
import { clientErrors } from '../../src/contract/errors.ts';
import { errorsOf, operations } from '../../src/contract/operations.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startTestSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

/** A client of a fresh account that does not wait, and what misbehaves for it alone. */
async function impatient() {
  const { account, key } = await sandbox.account();
  const store = new AnimalStore({ url: sandbox.url, key, maxWaitSeconds: 0 });
  const misbehave = (faults: string) => sandbox.steered('POST', '/faults', { faults, account });
  return { store, misbehave };
}

const caught = (promise: PromiseLike<unknown>) =>
  Promise.resolve(promise).then(
    () => undefined,
    (error: unknown) => error as AnimalStoreError,
  );

test.each(errorsOf(operations.createPet))('%s is an error with this code', async (code) => {
  const { store, misbehave } = await impatient();
  await misbehave(`code=${code}`);
  const error = await caught(store.pets.create({ name: 'Ozzy', categoryId: 1n }));
  expect(error).toBeInstanceOf(AnimalStoreError);
  expect(error).toMatchObject({ code, status: clientErrors[code as keyof typeof clientErrors].status });
});

test('remaining: the client sees the limit come, and is refused when it is there', async () => {
  const { store, misbehave } = await impatient();
  await misbehave('remaining=1');
  const { rateLimit } = await store.inventory.get().withResponse();
  expect(rateLimit?.minute.remaining).toBe(1);
  await store.inventory.get();
  expect(await caught(store.inventory.get())).toBeInstanceOf(RateLimitError);
});

test('slow-body: a page comes whole', async () => {
  const { store, misbehave } = await impatient();
  for (let n = 0; n < 5; n++) await store.pets.create({ name: `Slow ${n}`, categoryId: 77n });
  await misbehave('slow-body=1ms');
  const pets = await store.pets.list({ categoryId: 77n }).toArray();
  expect(pets.map(({ name }) => name)).toEqual(['Slow 0', 'Slow 1', 'Slow 2', 'Slow 3', 'Slow 4']);
});
