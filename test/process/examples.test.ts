/** Runs the programs in examples/ with a real service, as their README describes. */
import { expect, test } from 'bun:test';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { start, startService } from '../support/process.ts';

const day = [
  'Categories: Dogs, Cats',
  'Arrivals, each sent twice but added once: Ozzy, Pepper, Mia',
  'Two buyers order Ozzy: 201, 409 pet_not_available',
  'Deleting Ozzy while reserved: 409 pet_reserved',
  "The winner's order: delivered",
  'Delivering the order again: 409 order_transition_not_allowed',
  "The other buyer's order for Pepper: cancelled",
  'Two clerks rename Mia: 200, 412 precondition_failed',
  'Ozzy was returned. Mia was sold over the counter.',
  '  Ozzy: available',
  '  Pepper: available',
  '  Mia, the quiet one: sold',
];

/** Output of the shop day example, without the last line, which is a count that varies. */
async function dayAt(url: string, key: string): Promise<string[]> {
  const environment = { API: `${url}/v1`, KEY: key };
  await using program = start([process.execPath, 'examples/shop-day.ts'], { environment });
  expect({ exitCode: await program.exited, stderr: program.stderr() }).toEqual({ exitCode: 0, stderr: '' });
  const lines = program.stdout().trimEnd().split('\n');
  expect(lines.at(-1)).toMatch(/^Requests left this minute: \d+$/);
  return lines.slice(0, -1);
}

const firstDay = [...day, 'Inventory: {"available":2,"pending":0,"sold":1}'];
const secondDay = [...day, 'Inventory: {"available":4,"pending":0,"sold":2}'];

const ordersOfBothDays = [
  { petId: 1, status: 'returned' },
  { petId: 2, status: 'cancelled' },
  { petId: 4, status: 'returned' },
  { petId: 5, status: 'cancelled' },
];

test('the shop day example prints the output shown in its README, for the first day and the second', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const key = service.firstKey ?? '';
  expect(await dayAt(service.url, key)).toEqual(firstDay);
  expect(await dayAt(service.url, key)).toEqual(secondDay);
  const { text } = await clientOf(service.url, key).get('/orders');
  expect(JSON.parse(text)).toMatchObject(ordersOfBothDays);
});
