/** The command `events tail`, while a service records events. */
import { describe, expect, test } from 'bun:test';
import { commandLine, newWorkplace } from '../support/cli.ts';
import { newStores } from '../support/new-stores.ts';
import { start } from '../support/process.ts';

interface ShownEvent {
  readonly id: number;
  readonly type: string;
}

describe.each(await newStores())('on %s', (_name, makeStore) => {
  test('events tail prints each event as it is recorded, and Ctrl+C ends it with exit code 0', async () => {
    await using store = await makeStore();
    await using place = await newWorkplace();
    const environment = { ...store.settings, ADMIN_PORT: 'off' };
    const run = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await place.run(args, { environment });
      expect([args, exitCode, stderr.replace(/^Created a new store.*\n/, '')]).toEqual([args, 0, '']);
      return stdout;
    };
    const follow = (...args: string[]) =>
      start([...commandLine, 'events', 'tail', ...args], {
        cwd: place.folder,
        environment,
      });
    await run('import', await place.write('pets.csv', 'name,categoryId\nOzzy,1\nMaple,1\n'));
    await using service = await place.serve(environment);
    await using all = follow('--after', '0', '--json');
    await using orders = follow('--type', 'order.*');
    await all.said('pets.imported');
    // Without --after, the command starts with the next event, so events are added until the first one is printed.
    await run('categories', 'set', '7', 'Dogs');
    for (let pet = 1; orders.stdout() === '' && pet < 1_000; pet++) {
      const { id } = JSON.parse(await run('orders', 'place', '1', '--json')) as { id: number };
      await run('orders', 'cancel', String(id));
    }
    await orders.said(/Z {2}\d+ +order\.placed +Order \d+ for animal 1: placed\./);
    const last = JSON.parse(await run('events', 'list', '--limit', '1', '--json'))[0] as ShownEvent;
    await all.said(`"id":${last.id},`);
    for (const following of [all, orders]) {
      following.signal('SIGINT');
      expect([await following.exited, following.stderr()]).toEqual([0, '']);
    }
    const events = all
      .stdout()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ShownEvent);
    expect(events.map(({ id }) => id)).toEqual(Array.from({ length: last.id }, (_, index) => index + 1));
    expect(orders.stdout()).not.toContain('pet.updated');
    const listed = await run('events', 'list', '--limit', 'all', '--json');
    expect(JSON.parse(listed)).toEqual(events);
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
  });
});
