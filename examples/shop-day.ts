/**
 * Simulates a day in a pet store, using only `fetch`. Start the service (`npm start`), then run:
 *
 *   API=http://127.0.0.1:3000/v1 KEY=ask_your_first_key npx bun examples/shop-day.ts
 *
 * The key needs the pets:read, pets:create, pets:write and orders:write scopes. The program sends about 25
 * requests, which is within the Free plan's limit per minute.
 */

const { API, KEY } = process.env;
if (!API || !KEY) throw new Error('Set API (such as http://127.0.0.1:3000/v1) and KEY (ask_…).');

/**
 * The fields that this program uses. Ids are assigned sequentially from 1, so in practice they never exceed
 * `Number.MAX_SAFE_INTEGER`.
 */
interface Pet {
  readonly id: number;
  readonly name: string;
  readonly status: 'available' | 'pending' | 'sold';
}
interface Order {
  readonly id: number;
  readonly status: string;
}

interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** Sends a request once. The caller handles the status. */
async function send<Body>(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> {
  const response = await fetch(`${API}${path}`, {
    method,
    headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}

/** Sends a request that must succeed. */
async function expectSuccess<Body>(...request: Parameters<typeof send>): Promise<Answer<Body>> {
  const answer = await send<Body>(...request);
  if (answer.status >= 400) throw new Error(`${request[0]} ${request[1]}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** The status, followed by the error code if the request failed. */
function outcome({ status, body }: Answer<unknown>): string {
  return status < 400 ? String(status) : `${status} ${(body as { code: string }).code}`;
}

// Names the categories before opening. A PUT can be repeated, so the program can run again on the next day.
const dogs = 1;
const cats = 2;
await expectSuccess('PUT', `/categories/${dogs}`, { name: 'Dogs' });
await expectSuccess('PUT', `/categories/${cats}`, { name: 'Cats' });
console.log('Categories: Dogs, Cats');

// Animals arrive. The key is generated before the first attempt, so that retries can use it.
async function arrive(name: string, categoryId: number): Promise<Pet> {
  const idempotencyKey = crypto.randomUUID();
  const arrival = () =>
    expectSuccess<Pet>('POST', '/pets', { name, categoryId }, { 'Idempotency-Key': idempotencyKey });
  const first = await arrival();
  // Assume that the first response was lost. The second response is identical, and no second animal is added.
  const second = await arrival();
  if (second.body.id !== first.body.id || second.headers.get('idempotent-replayed') !== 'true') {
    throw new Error(`${name} was added twice.`);
  }
  return first.body;
}
const ozzy = await arrive('Ozzy', dogs);
const pepper = await arrive('Pepper', dogs);
const mia = await arrive('Mia', cats);
console.log('Arrivals, each sent twice but added once: Ozzy, Pepper, Mia');

// Two buyers order Ozzy at the same time. The response reports whether Ozzy was available, so the buyers need not check
// first.
const order = (pet: Pet, reference: string) =>
  send<Order>('POST', '/orders', { petId: pet.id, reference }, { 'Idempotency-Key': crypto.randomUUID() });
const answers = await Promise.all([order(ozzy, 'Anna'), order(ozzy, 'Ben')]);
console.log(`Two buyers order Ozzy: ${answers.map(outcome).sort().join(', ')}`);
const won = answers.find(({ status }) => status === 201);
if (won === undefined || answers.every(({ status }) => status === 201)) {
  throw new Error('Exactly one of the buyers must get Ozzy.');
}
const loser = answers[0] === won ? 'Ben' : 'Anna';

// An order reserves its animal until it is delivered or cancelled.
const holding = won.body;
console.log(`Deleting Ozzy while reserved: ${outcome(await send('DELETE', `/pets/${ozzy.id}`))}`);
await expectSuccess('POST', `/orders/${holding.id}/approve`);
const delivered = await expectSuccess<Order>('POST', `/orders/${holding.id}/deliver`);
console.log(`The winner's order: ${delivered.body.status}`);
console.log(`Delivering the order again: ${outcome(await send('POST', `/orders/${holding.id}/deliver`))}`);

// The other buyer orders Pepper, then cancels.
const second = (await order(pepper, `${loser} (instead of Ozzy)`)).body;
const cancelled = await expectSuccess<Order>('POST', `/orders/${second.id}/cancel`);
console.log(`The other buyer's order for Pepper: ${cancelled.body.status}`);

// Two clerks rename Mia. Both have read the same version, so the second clerk gets an error instead of overwriting the
// first clerk's change.
const seen = (await expectSuccess<Pet>('PATCH', `/pets/${mia.id}`, {})).headers.get('etag') ?? '';
const rename = (name: string) => send<Pet>('PATCH', `/pets/${mia.id}`, { name }, { 'If-Match': seen });
const renamed = [await rename('Mia, the quiet one'), await rename('Mia, the loud one')];
console.log(`Two clerks rename Mia: ${renamed.map(outcome).join(', ')}`);

// Ozzy is returned, and Mia is sold over the counter.
await expectSuccess('POST', `/orders/${holding.id}/return`);
await expectSuccess('PATCH', `/pets/${mia.id}`, { status: 'sold' });
console.log('Ozzy was returned. Mia was sold over the counter.');

// At closing time, a single request reads the three animals, regardless of the size of the store.
const ids = [ozzy, pepper, mia].map(({ id }) => id).join(',');
const { body: pets } = await expectSuccess<Pet[]>('GET', `/pets?id=${ids}`);
for (const { name, status } of pets) console.log(`  ${name}: ${status}`);
const { body: inventory } = await expectSuccess('GET', '/inventory');
console.log(`Inventory: ${JSON.stringify(inventory)}`);
const { body: limits } = await expectSuccess<{ minute: { remaining: number } }>('GET', '/rate-limit');
console.log(`Requests left this minute: ${limits.minute.remaining}`);
