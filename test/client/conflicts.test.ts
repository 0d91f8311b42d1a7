/** `pets.updateWith` if an attempt fails and another client changes the animal before the retry. */
import { describe, expect, test } from 'bun:test';
import { type Pet, type PetPatch, PreconditionError } from '../../client/src/index.ts';
import { startAppForFile } from '../support/app.ts';
import { failures } from '../support/client-failures.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const app = await startAppForFile();

type Send = () => Promise<Response>;
/** Responds to an attempt instead of the service. `list` sends another request of the account. */
type Failure = (perform: Send, list: Send) => Response | Promise<Response>;
type Change = (pet: Pet) => PetPatch;

/** Another program of the account uses up the limit. */
async function exhaust(perform: Send, list: Send): Promise<Response> {
  for (let count = 0; count < 60; count++) await list();
  return perform();
}

/** After these failures, the change was certainly not applied. */
const conclusive: Readonly<Record<string, Failure>> = {
  'a 429': exhaust,
  'a 503 that changed nothing': failures['a 503 with Retry-After'],
  'a refused connection': failures['refused connections'],
};

/** After these failures, the client cannot know whether the change was applied. */
const unknown: Readonly<Record<string, Failure>> = {
  'a connection that breaks before the change': failures['broken connections'],
  'a connection that breaks after the change': failures['lost responses'],
  "a proxy's 502": failures["a proxy's 502"],
};

/** Applies `change` to Pepper with `updateWith`. The first attempt fails, and `other` follows before the retry. */
async function conflict(failure: Failure, change: Change, other?: Change) {
  const time = new VirtualTime(app.clock);
  const others = time.client({ key: app.key, url: app.url });
  const { id } = await time.until(others.pets.create({ name: 'Pepper', categoryId: 7 }));
  const { key } = await app.tenant('free');
  let attempts = 0;
  const store = time.client({
    key,
    url: app.url,
    fetch: async (url, init) => {
      const perform = () => time.fetch(url, init);
      const list = () =>
        time.fetch(`${app.url}/v1/inventory`, { headers: { Authorization: `Bearer ${key}` } });
      if (init.method !== 'PATCH' || init.body === '{}' || attempts++ > 0) return perform();
      try {
        return await failure(perform, list);
      } finally {
        if (other !== undefined) await others.pets.updateWith(id, other);
      }
    },
  });
  let calls = 0;
  const update = store.pets.updateWith(id, (pet) => {
    calls++;
    return change(pet);
  });
  const outcome = await time.until(update.catch((error: unknown) => error));
  const { events } = await time.until(others.events.list({ type: ['pet.updated'], order: 'desc' }));
  const states = events.map(({ data }) => data as Pet).filter((pet) => pet.id === id);
  return { outcome, calls, changes: states.reverse().map(({ name, status }) => `${name}: ${status}`) };
}

const rename: Change = ({ name }) => ({ name: `${name} II` });
const reserve: Change = ({ name }) => ({ name: `${name} (reserved)` });
const sell: Change = ({ status }) => {
  if (status === 'sold') throw new Error('already sold');
  return { status: 'sold' };
};

const isUnknown = { code: 'precondition_failed', attempts: 2, isOutcomeUnknown: true };

describe.each(Object.entries(conclusive))('updateWith after %s', (_, failure) => {
  test('starts over if another client has made the same change, so that only one sells the animal', async () => {
    const { outcome, calls, changes } = await conflict(failure, sell, sell);
    expect(outcome).toEqual(new Error('already sold'));
    expect({ calls, changes }).toEqual({ calls: 2, changes: ['Pepper: sold'] });
  });

  test('starts over if another client has made a different change, so that both are applied', async () => {
    const { outcome, calls, changes } = await conflict(failure, rename, reserve);
    expect(outcome).toMatchObject({ name: 'Pepper (reserved) II' });
    expect(calls).toBe(2);
    expect(changes).toEqual(['Pepper (reserved): available', 'Pepper (reserved) II: available']);
  });

  test('applies the change if no other client has changed the animal', async () => {
    const { outcome, calls, changes } = await conflict(failure, rename);
    expect(outcome).toMatchObject({ name: 'Pepper II' });
    expect({ calls, changes }).toEqual({ calls: 1, changes: ['Pepper II: available'] });
  });
});

describe.each(Object.entries(unknown))('updateWith after %s', (_, failure) => {
  const isApplied = failure === failures['lost responses'];

  test('rejects if another client has made the same change, which may be its own', async () => {
    // After the first sale, the other client cannot sell the animal.
    const other: Change = () => ({ status: 'sold' });
    const { outcome, calls, changes } = await conflict(failure, sell, other);
    expect(outcome).toBeInstanceOf(PreconditionError);
    expect(outcome).toMatchObject(isUnknown);
    expect({ calls, changes }).toEqual({ calls: 1, changes: ['Pepper: sold'] });
  });

  test('rejects if another client has made a different change, and does not apply the change twice', async () => {
    const { outcome, calls, changes } = await conflict(failure, rename, reserve);
    expect(outcome).toMatchObject(isUnknown);
    expect(calls).toBe(1);
    expect(changes).toEqual(
      isApplied
        ? ['Pepper II: available', 'Pepper II (reserved): available']
        : ['Pepper (reserved): available'],
    );
  });

  test(`${isApplied ? 'rejects' : 'applies the change'} if no other client has changed the animal`, async () => {
    const { outcome, calls, changes } = await conflict(failure, rename);
    expect(outcome).toMatchObject(isApplied ? isUnknown : { name: 'Pepper II' });
    expect({ calls, changes }).toEqual({ calls: 1, changes: ['Pepper II: available'] });
  });
});
