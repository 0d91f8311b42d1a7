/** A program that uses the installed package, and runs unchanged in Node.js, Bun and a browser. Returns its results. */
import {
  AnimalStore,
  AnimalStoreError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  type Pet,
  RateLimitError,
  verifyWebhook,
} from '@animal-store/client';

/** URL of the service, and keys of two accounts: one with ample limits, and one limited to two requests per minute. */
export interface Given {
  readonly url: string;
  readonly key: string;
  readonly limitedKey: string;
}

const largest = 9_223_372_036_854_775_807n;

export async function run({ url, key, limitedKey }: Given): Promise<string[]> {
  const store = new AnimalStore({ key, url });
  return [
    ...(await animals(store)),
    ...(await events(store)),
    `webhook: ${await webhook()}`,
    ...(await orders(store)),
    ...(await errors(store)),
    ...(await limits(new AnimalStore({ key: limitedKey, url, maxWaitSeconds: 0 }))),
  ];
}

async function animals({ pets, categories, inventory }: AnimalStore): Promise<string[]> {
  const created: Pet[] = [];
  for (const name of ['Søren', '犬 "Rex"', 'null'])
    created.push(await pets.create({ name, categoryId: largest }));
  const [first] = created as [Pet, ...Pet[]];
  await pets.update(first.id, { status: 'pending' });
  const named: string[] = [];
  for await (const { name, status } of pets.list({ categoryId: largest, limit: 2 }))
    named.push(`${name} ${status}`);
  const pages: number[] = [];
  for await (const { data } of pets.list({ ids: created.map(({ id }) => id), limit: 2 }).pages())
    pages.push(data.length);
  const category = await categories.put(-largest, { name: 'Dogs' });
  const counted = await inventory.get({ categoryId: largest });
  for (const { id } of created) await pets.delete(id);
  await categories.delete(category.id);
  return [
    `animals: ${named.join(', ')}`,
    `pages: ${pages.join()}`,
    `category: ${category.id} ${category.name}`,
    `inventory: ${counted.available} ${counted.pending} ${counted.sold}`,
  ];
}

async function events({ pets, events }: AnimalStore): Promise<string[]> {
  const { next: after } = await events.list({ order: 'desc', limit: 1 });
  const seen: string[] = [];
  const following = (async () => {
    for await (const event of events.follow({ after, types: ['pet.*'] }))
      if (seen.push(`${event.type} ${event.id - after}`) === 2) break;
  })();
  const { id } = await pets.create({ name: 'Kim', categoryId: largest });
  await pets.delete(id);
  await following;
  return [`events: ${seen.join()}`];
}

async function webhook(): Promise<string> {
  const secret = new TextEncoder().encode('a secret of a webhook');
  const body = `{"id":${largest},"type":"pet.created","data":{"name":"犬"}}`;
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  const signed = new TextEncoder().encode(`evt_1.${timestamp}.${body}`);
  const signature = btoa(
    String.fromCharCode(...new Uint8Array(await crypto.subtle.sign('HMAC', key, signed))),
  );
  const headers = {
    'Webhook-Id': 'evt_1',
    'Webhook-Timestamp': timestamp,
    'Webhook-Signature': `v1,${signature}`,
  };
  const event = await verifyWebhook(`whsec_${btoa('a secret of a webhook')}`, headers, body);
  return `${event.id} ${event.type}`;
}

async function orders({ pets, orders }: AnimalStore): Promise<string[]> {
  const pet = await pets.create({ name: 'Ozzy', categoryId: 1 });
  const { id } = await orders.place({ petId: pet.id, reference: 'the first' });
  const seen: string[] = [];
  for (const step of ['approve', 'deliver', 'return'] as const)
    seen.push(`${(await orders[step](id))?.status}`);
  const { data, status, etag, requestId, rateLimit } = await orders.get(id).withResponse();
  const facts = [etag, requestId, rateLimit?.minute.limit, rateLimit?.day.remaining];
  await pets.delete(pet.id);
  return [
    `order: ${seen.join()}`,
    `with its answer: ${status} ${data.reference} ${facts.map((one) => one !== undefined).join()}`,
  ];
}

async function errors({ pets, orders }: AnimalStore): Promise<string[]> {
  const { id } = await pets.create({ name: 'Mia', categoryId: 2n, status: 'sold' });
  const seen = [
    await thrown(pets.delete(largest), (error) => error instanceof NotFoundError && error.code),
    await thrown(orders.place({ petId: id }), (error) => error instanceof ConflictError && error.code),
    await thrown(
      pets.create({ name: '', categoryId: 2n }),
      (error) => error instanceof InvalidRequestError && error.details.map(({ name }) => name).join(),
    ),
  ];
  await pets.delete(id);
  return seen;
}

/** Uses the `Retry-After` header, which a page from another origin can read only if the service exposes the header. */
async function limits({ pets, rateLimit }: AnimalStore): Promise<string[]> {
  await pets.list().toArray();
  await pets.list().toArray();
  const refusal = await thrown(
    pets.list().toArray(),
    (error) => error instanceof RateLimitError && `${error.code} ${(error.retryAfterSeconds ?? 0) > 0}`,
  );
  return [refusal, `left: ${(await rateLimit.get()).minute.remaining}`];
}

async function thrown(
  call: PromiseLike<unknown>,
  describe: (error: unknown) => string | false,
): Promise<string> {
  try {
    return `not refused: ${await call}`;
  } catch (error) {
    const isOurs = error instanceof AnimalStoreError && error instanceof Error;
    return `${isOurs ? error.name : 'not of the client'}: ${describe(error) || error}`;
  }
}
