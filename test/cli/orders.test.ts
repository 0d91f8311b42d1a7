import { expect, test } from 'bun:test';
import { newWorkplace, sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace();

interface Order {
  readonly id: number;
  readonly petId: number;
  readonly status: string;
  readonly reference?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Adds an animal, and returns its id. */
async function newPet(): Promise<string> {
  await place.write('pet.csv', 'name,categoryId\nOzzy,1\n');
  return String((await place.json<{ lastId: number }>('import', 'pet.csv', '--again')).lastId);
}

const statusOf = async (petId: string) =>
  (await place.json<{ status: string }>('pets', 'show', petId)).status;

const orders = (...args: string[]) => place.json<Order>('orders', ...args);

test('cancelling an order makes its animal available again', async () => {
  const petId = await newPet();
  const { id } = await orders('place', petId);
  const { exitCode, stdout } = await place.run(['orders', 'cancel', String(id)]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(new RegExp(`^Order ${id} for animal ${petId}: cancelled\\. Placed \\S+Z`));
  expect(await statusOf(petId)).toBe('available');
  expect(await orders('place', petId)).toMatchObject({ status: 'placed' });
});

test("a rule violation fails with the API's error message and exit code 1, and changes nothing", async () => {
  const petId = await newPet();
  const { id } = await orders('place', petId);
  const refusals: [args: string[], message: string][] = [
    [['place', petId], 'The animal is "pending". Only an available animal can be ordered.'],
    [['return', String(id)], 'The order is placed and cannot be returned. Allowed: approve, cancel.'],
    [['place', '999999'], 'petId is not the id of an animal.'],
    [['show', '999999'], 'There is no order 999999. For a list, run "animal-store orders list".'],
  ];
  for (const [args, message] of refusals) {
    expect(await place.run(['orders', ...args])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `animal-store: ${message}\n`,
    });
  }
  expect(await orders('show', String(id))).toMatchObject({ status: 'placed' });
  await orders('cancel', String(id));
  const twice = await place.run(['orders', 'cancel', String(id), '--json']);
  expect(twice.exitCode).toBe(1);
  expect(JSON.parse(twice.stderr)).toMatchObject({ error: { code: 'order_transition_not_allowed' } });
});

test('orders list prints a table, and filters by status and animal', async () => {
  await using other = await newWorkplace();
  await other.write('pets.csv', 'name,categoryId\nA,1\nB,1\nC,1\n');
  await other.json('import', 'pets.csv');
  expect((await other.run(['orders', 'list'])).stdout).toBe('No orders.\n');
  for (const petId of ['1', '2', '3']) await other.json('orders', 'place', petId);
  await other.json('orders', 'approve', '2');
  await other.json('orders', 'cancel', '3');
  await other.json('orders', 'place', '3', '--reference', 'again');
  const ids = async (...args: string[]) =>
    (await other.json<Order[]>('orders', 'list', ...args)).map(({ id }) => id);
  expect(await ids()).toEqual([1, 2, 3, 4]);
  expect(await ids('--status', 'placed')).toEqual([1, 4]);
  expect(await ids('--pet', '3')).toEqual([3, 4]);
  expect(await ids('--pet', '3', '--status', 'cancelled')).toEqual([3]);
  expect(await ids('--after', '2', '--limit', '1')).toEqual([3]);
  const { stdout } = await other.run(['orders', 'list']);
  expect(stdout).toMatch(/^ID +ANIMAL +STATUS +PLACED +CHANGED +REFERENCE\n1 +1 +placed +\S+Z +\S+Z\n/);
  expect(stdout).toMatch(/^4 +3 +placed +\S+Z +\S+Z +again$/m);
});
